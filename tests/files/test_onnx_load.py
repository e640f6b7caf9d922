"""Loading ONNX: the onnx package's own backend tests are the oracle, then ONNX Runtime, and our own exports."""

import re
import warnings
from functools import cache
from inspect import signature
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.engine.base.errors import DTypeError, GraphError, SavedFileError, ShapeError
from minigrad.engine.base.pytree import leaves
from minigrad.files.onnx.readings import READINGS
from tests.support.python_calls import count_calls
from tests.support.root import ROOT

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402  (what needs the package is behind it)
from onnx.backend.test.loader import load_model_tests  # noqa: E402
from test_onnx import NETWORKS, agree, classes, f4, run  # noqa: E402

DECISION = (ROOT / "docs/decisions/037-onnx-read.md").read_text("utf-8")
SHARES = {"node": 8, "node, in a graph": 12}  # rows of 1,600 models: 20 s each
TABLE = re.findall(r"^\| `(.+?)` \| (\d+) \| (\d+) \| (\d+) \|", DECISION, re.M)
VERSION = re.search(r"onnx (\d+\.\d+)", DECISION)[1]
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("me", 1)]


# -- the onnx package's tests ---------------------------------------------------------------------------


def parsed(path, said):
    """What a file of a test holds: a tensor, or a list of them."""
    data = path.read_bytes()
    if said.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return numpy_helper.to_array(TensorProto.FromString(data))


@cache
def cases(kind):
    return [*read(kind)]


def read(kind):
    """(name, model, [(inputs, outputs)], rtol, atol) of the tests of one kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind=kind)
    for test in tests:
        if test.model is not None:
            yield test.name, test.model, test.data_sets, test.rtol, test.atol
            continue
        model = onnx.load(Path(test.model_dir) / "model.onnx")
        graph, sets = model.graph, []
        for folder in sorted(Path(test.model_dir).glob("test_data_set_*")):
            files = len([*folder.glob("input_*.pb")])
            ins = [parsed(folder / f"input_{i}.pb", x.type) for i, x in enumerate(graph.input[:files])]
            outs = [parsed(folder / f"output_{i}.pb", x.type) for i, x in enumerate(graph.output)]
            sets.append((ins, outs))
        yield test.name, model, sets, test.rtol, test.atol


def array(x):
    """A value of a test as we take it."""
    if isinstance(x, list | tuple):
        return [array(part) for part in x]
    return numpy_helper.to_array(x) if isinstance(x, TensorProto) else x


def differs(y, wanted, rtol, atol):
    """Whether a result is another; of halves, whether it is so beyond the last bits, where orders of summing differ."""
    if isinstance(wanted, list) or y is None or isinstance(y, list):
        return wanted is not y if y is None else len(y) != len(wanted) or any(
            differs(*pair, rtol, atol) for pair in zip(y, wanted)
        )  # fmt: skip
    y, wanted = y.numpy(), np.asarray(wanted)
    if (y.shape, y.dtype) != (wanted.shape, wanted.dtype):
        return True
    if y.dtype.itemsize == 2 and y.dtype.kind not in "iu":
        rtol, atol = (2**-9 if y.dtype == np.float16 else 2**-6), 2**-10
    return not np.allclose(y.astype("f8"), wanted.astype("f8"), rtol, atol, equal_nan=True)


def judged(model, sets, rtol, atol, called):
    """'passed'; 'refused', with the name of what is not read; or what else happened."""
    try:
        f = mg.onnx.load(model.SerializeToString())
        for ins, outs in sets:
            ys = called(f, [array(x) for x in ins])
            if any(differs(y, array(wanted), rtol, atol) for y, wanted in zip(ys, outs, strict=True)):
                return f"{ys} for {outs}"
    except GraphError as reason:
        return "refused" if re.search(r"[A-Z]\w+", str(reason)) else f"refused without a name: {reason}"
    except Exception as error:
        return repr(error)
    return "passed"


def eagerly(f, xs):
    y = f(*xs)
    return y if isinstance(y, tuple) else (y,)


def traced(f, xs):
    """In a graph; integers, which may be shapes, are constants of it."""
    given = {i: x for i, x in enumerate(xs) if isinstance(x, np.ndarray) and x.dtype.kind not in "iub"}

    @mg.function
    def g(*floats):
        found = dict(zip(given, floats))
        return f(*(found.get(i, x) for i, x in enumerate(xs)))

    y = g(*map(mg.tensor, given.values()))
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("row", "passed", "refused", "wrong"),
    [pytest.param(*row, marks=pytest.mark.share(SHARES.get(row[0], 1))) for row in TABLE],
)
def test_the_backend_tests_pass_or_are_refused_by_name(row, passed, refused, wrong):
    """As many as the decision page says: its table is read here."""
    kind, _, in_a_graph = row.partition(", ")
    called = traced if in_a_graph else eagerly  # what is spelled out in other ops is seen once
    asked = [case for case in cases(kind) if not (in_a_graph and case[0].endswith("_expanded"))]
    found = [(name, judged(*case, called=called)) for name, *case in asked]

    assert [pair for pair in found if pair[1] not in ("passed", "refused")] == [] == ["wrong"] * int(wrong)
    if onnx.__version__.startswith(VERSION):
        said = [sum(verdict == word for _, verdict in found) for word in ("passed", "refused")]
        assert said == [int(passed), int(refused)]


def test_an_attribute_that_is_left_out_has_the_default_of_the_standard():
    """None stands for a default that depends on the opset or on the rank."""
    wrong = []
    for op, reading in READINGS.items():
        attributes = onnx.defs.get_schema(op).attributes
        for name, parameter in signature(reading).parameters.items():
            default = attributes[name].default_value if name in attributes else onnx.AttributeProto()
            if parameter.default not in (parameter.empty, None) and default.type != default.UNDEFINED:
                value = helper.get_attribute_value(default)
                value = value.decode() if isinstance(value, bytes) else value
                if parameter.default != (pytest.approx(value) if isinstance(value, float) else value):
                    wrong.append(f"{op}: {name} = {parameter.default}, and not {value}")

    assert not wrong


def test_the_goals_are_met():
    counts = {row: [*map(int, rest)] for row, *rest in TABLE}
    assert counts["node"][0] >= 0.75 * sum(counts["node"])
    assert counts["pytorch-converted"][1:] == counts["pytorch-operator"][1:] == [0, 0]


LARGE = ("light_bvlc_alexnet", "light_vgg19", "light_zfnet512")  # hundreds of MB of weights: as they are
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


@pytest.mark.share(6)
@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda p: p.stem)
def test_light_networks_give_what_onnx_runtime_gives(path):
    """Their weights are made by ConstantOfShape, all the same: of numbers drawn here, no sum is that of another."""
    model, rng = onnx.load(path), np.random.default_rng(0)
    normal, even = rng.standard_normal(10_007), rng.uniform(0.5, 1, 10_007)
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and path.stem not in LARGE:
            shape = next(numpy_helper.to_array(x) for x in model.graph.initializer if x.name == node.input[0])
            fan = max(int(np.prod(shape[1:])), 1)
            drawn = np.resize(normal * fan**-0.5 if len(shape) > 1 else even, shape).astype("f4")
            node.CopyFrom(helper.make_node("Constant", [], node.output, value=numpy_helper.from_array(drawn)))
    data = model.SerializeToString()
    f = mg.onnx.load(data)
    x = f4(1, 3, 224, 224)

    y = f(x).numpy()

    made = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (wanted,) = made.run(None, {made.get_inputs()[0].name: x.numpy()})
    assert path.stem in LARGE or np.ptp(wanted) > 0
    np.testing.assert_allclose(y, wanted, rtol=1e-2, atol=1e-5 * np.abs(wanted).max())


# -- there and back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_what_was_exported_is_loaded_with_its_numbers_its_parameters_and_its_gradients(name, tmp_path):
    make, inputs = NETWORKS[name]
    net, x = make(), inputs(2)
    mg.onnx.export(net, x, tmp_path / "net.onnx")

    f = mg.onnx.load(tmp_path / "net.onnx")

    for ys in (f(x), mg.function(f)(x)):
        agree([y.numpy() for y in leaves(ys)], net(x))
    for g in (net, f):
        (leaves(g(x))[0] ** 2).sum().backward()
    wanted = {n: p.grad for n, p in net.named_parameters()}
    assert {n for n, _ in f.named_parameters()} == {*wanted}
    for n, p in f.named_parameters():
        np.testing.assert_allclose(p.grad.numpy(), wanted[n].numpy(), rtol=1e-3, atol=1e-4, err_msg=n)


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_loaded_is_exported_again_and_stays_as_it_is(name, tmp_path):
    make, inputs = NETWORKS[name]
    net, x = make(), inputs(2)
    paths = [tmp_path / f"{i}.onnx" for i in range(3)]
    mg.onnx.export(net, x, paths[0])

    for before, after in pairwise(paths):
        mg.onnx.export(mg.onnx.load(before), x, after)

    agree(run(paths[2], x), net(x))
    kinds = [[node.op_type for node in onnx.load(path).graph.node] for path in paths]
    assert len(kinds[0]) >= len(kinds[1])
    assert kinds[1] == kinds[2]
    graphs = [onnx.load(path).graph for path in paths]
    assert len({tuple(x.name for x in (*graph.input, *graph.output)) for graph in graphs}) == 1


def test_a_loaded_network_is_trained(tmp_path):
    net, x, target = NETWORKS["MLP"][0](), f4(16, 4), classes(3, 16)
    mg.onnx.export(net, x, tmp_path / "net.onnx", dynamic_axes={"input": {0: "n"}})
    f = mg.onnx.load(tmp_path / "net.onnx")
    optimizer = mg.optim.SGD(f.parameters(), lr=0.5)
    losses = []

    for _ in range(30):
        loss = mg.functional.cross_entropy(f(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 2
    net.load_state_dict(f.state_dict(), strict=False)
    agree([f(x).numpy()], net(x))


def test_a_traced_call_of_a_loaded_network_goes_through_its_arrays_and_not_through_its_nodes(tmp_path):
    """Each call compared all that the file's nodes hold: 13 ms, and 9,700 calls of Python functions."""
    net, x = NETWORKS["Transformer"][0](), f4(2, 5, 16)
    mg.onnx.export(net, x, tmp_path / "net.onnx")
    f = mg.onnx.load(tmp_path / "net.onnx")
    g = mg.function(f)
    g(x)
    g(x)  # compares what the trace read; from the next call on, the identities of these values are compared

    assert count_calls(g, x) < 400
    f.variables.update({name: w + 0.5 for name, w in f.variables.items() if w.requires_grad})
    agree([g(x).numpy()], f(x))
    assert abs(g(x) - net(x)).max() > 0.01


def test_a_branch_and_a_while_come_back_as_themselves(tmp_path):
    def f(x, limit):
        while x.sum() < limit:
            x = x * 2
        if x.sum() > 50:
            y = x - 1
        else:
            y = x
        return y

    path, x = tmp_path / "f.onnx", abs(f4(3, 2))
    mg.onnx.export(f, (x, mg.tensor(9.0)), path)
    g = mg.onnx.load(path)

    for limit in (0.0, 9.0, 99.0):
        for h in (g, mg.function(g)):
            agree([h(x, mg.tensor(limit)).numpy()], f(x, mg.tensor(limit)))
    mg.onnx.export(g, (x, mg.tensor(9.0)), path)
    assert {"Loop", "If"} <= {node.op_type for node in onnx.load(path).graph.node}


def test_a_training_graph_is_differentiated_again(tmp_path):
    """The gradient of a gradient: of one that came from a file."""
    path = tmp_path / "slope.onnx"

    def slope(x):
        return mg.autograd.grad((x**3).sum(), x, create_graph=True)[0]

    x = mg.tensor(f4(3).numpy(), requires_grad=True)
    mg.onnx.export(slope, x, path)

    mg.onnx.load(path)(x).sum().backward()

    np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy(), rtol=1e-5)


# -- where the standard is not of one mind ----------------------------------------------------------------


def agree_with_runtime(model, x, path):
    onnx.save(model, path)
    agree([mg.onnx.load(path)(x).numpy()], mg.tensor(run(path, x)[0]))


def resized(n, scale, **attributes):
    """A model that resizes rows of n elements."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, m]) for name, m in (("x", n), ("y", "m")))
    scales = numpy_helper.from_array(np.array([1, 1, scale], "f4"), "scales")
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    graph = helper.make_graph([node], "toy", [x], [y], [scales])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize(("n", "scale"), [(10, 2.3), (10, 1.3), (100, 0.29), (30, 0.7), (7, 1.5), (20, 0.3)])
def test_a_length_is_rounded_as_the_standard_infers_it(n, scale, tmp_path):
    """Of 10 elements 2.3 times as many are 23, though 2.3 in float32 is less: this was 22."""
    agree_with_runtime(resized(n, scale, mode="linear"), f4(1, 1, n), tmp_path / "resize.onnx")


@pytest.mark.parametrize(
    ("n", "scale", "place"), [(5, 2.3, "align_corners"), (5, 0.7, "align_corners"), (7, 1 / 6, "pytorch_half_pixel")]
)
def test_a_scale_of_which_text_and_tests_say_two_things_is_refused(n, scale, place, tmp_path):
    with pytest.raises(GraphError, match=f"Resize in mode {place} by a scale to .* elements .*give sizes"):
        loaded(resized(n, scale, mode="linear", coordinate_transformation_mode=place))(f4(1, 1, n))

    whole = resized(n, 2.0, mode="linear", coordinate_transformation_mode=place)
    agree_with_runtime(whole, f4(1, 1, n), tmp_path / "resize.onnx")


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(1, 1, 3, 4), (2, 1, 3, 4), (1, 1, 2, 3, 4)])
def test_a_grid_of_one_picture(size, corners, tmp_path):
    """Of which the standard's own spelling in other ops squeezes the batch away."""
    n = len(size) - 2
    theta = helper.make_tensor_value_info("theta", TensorProto.FLOAT, [size[0], n, n + 1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [size[0], *size[2:], n])
    node = helper.make_node("AffineGrid", ["theta", "size"], ["y"], align_corners=corners)
    graph = helper.make_graph([node], "toy", [theta], [y], [numpy_helper.from_array(np.array(size), "size")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    agree_with_runtime(model, f4(size[0], n, n + 1), tmp_path / "grid.onnx")


# -- calling --------------------------------------------------------------------------------------------


def one_node(kind, *inputs, domain="", opset=21, initializers=(), **attributes):
    """A model of one node, of float vectors."""
    xs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in inputs]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    names = [*inputs, *(x.name for x in initializers)]
    graph = helper.make_graph([helper.make_node(kind, names, ["y"], domain=domain, **attributes)], "toy", xs, [y])
    graph.initializer.extend(initializers)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("me", 1)]
    return helper.make_model(graph, opset_imports=opsets)


def loaded(model):
    return mg.onnx.load(model.SerializeToString())


def test_inputs_come_in_order_or_by_name():
    f = loaded(one_node("Sub", "a", "b"))
    a, b = f4(2), f4(2, seed=1)

    for y in (f(a, b), f(a, b=b), f(b=b, a=a), f(a.numpy(), b.numpy())):
        np.testing.assert_array_equal(y.numpy(), (a - b).numpy())
    assert repr(f) == "OnnxFunction(a, b → y)"


@pytest.mark.parametrize(("error", "words", "call"), [
    (TypeError, "toy takes a, b, but was called with 1 by place", lambda f, x: f(x)),
    (TypeError, "called with 2 by place, and b", lambda f, x: f(x, x, b=x)),
    (DTypeError, "the input a must be float32, got float64", lambda f, x: f(x.double(), x)),
    (ShapeError, r"the input b must have shape \[2\]", lambda f, x: f(x, x[:1])),
])  # fmt: skip
def test_a_call_that_does_not_fit_says_what_was_wanted(error, words, call):
    with pytest.raises(error, match=words):
        call(loaded(one_node("Sub", "a", "b")), f4(2))


def test_an_error_inside_names_the_node():
    f = loaded(one_node("MatMul", "a", initializers=[numpy_helper.from_array(f4(3, 3).numpy(), "w")]))

    with pytest.raises(ShapeError) as error:
        f(f4(2))

    assert error.value.__notes__ == ["in MatMul of an ONNX model"]


def test_a_shape_that_only_a_run_tells_is_refused_in_a_graph_and_works_outside():
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2]) for n in "xy")
    n = helper.make_tensor_value_info("n", TensorProto.INT64, [1])
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "n"], ["y"])], "toy", [x, n], [y])
    f = loaded(helper.make_model(graph, opset_imports=OPSETS))

    assert f(f4(2, 2), mg.tensor([4])).shape == (4,)
    with pytest.raises(GraphError, match=r"Reshape: .*without mg.function"):
        mg.function(f)(f4(2, 2), mg.tensor([4]))


# -- what is refused, and hostile files -----------------------------------------------------------------


@pytest.mark.parametrize(("words", "model"), [
    ("toy needs me.Frobnicate, which mg.onnx.load cannot read", lambda: one_node("Frobnicate", "a", domain="me")),
    ("toy needs RandomNormalLike, which mg.onnx.load cannot read", lambda: one_node("RandomNormalLike", "a")),
    ("has opset 99, and mg.onnx.load reads opsets up to", lambda: one_node("Neg", "a", opset=99)),
    ("Cast: the result is of dtype FLOAT8E4M3FN", lambda: one_node("Cast", "a", to=TensorProto.FLOAT8E4M3FN)),
])  # fmt: skip
def test_what_is_not_understood_is_refused_by_name(words, model):
    with pytest.raises(GraphError, match=words):
        loaded(model())(f4(2))


def test_operands_of_two_types_are_refused():
    model = one_node("Add", "a", initializers=[numpy_helper.from_array(np.ones(2), "w")])

    with pytest.raises(GraphError, match="Add: operands of float32 and float64"):
        loaded(model)(f4(2))


def test_a_function_of_the_model_is_read_and_one_made_of_itself_is_not():
    def model(inside):
        nodes = [helper.make_node(inside, ["x"], ["y"], domain="me" if inside == "Twice" else "")]
        own = helper.make_function("me", "Twice", ["x"], ["y"], nodes, OPSETS)
        made = one_node("Twice", "a", domain="me")
        made.functions.append(own)
        return made

    np.testing.assert_array_equal(loaded(model("Neg"))(f4(2)).numpy(), -f4(2).numpy())
    with pytest.raises(SavedFileError, match="recursive"):
        loaded(model("Twice"))


def test_functions_in_functions_are_looked_into_once():
    """Forty functions that call the next one twice: a thousand thousand million calls, had anybody counted them."""
    model = one_node("F0", "a", domain="me")
    for i in range(40):
        kind, domain = (f"F{i + 1}", "me") if i < 39 else ("Neg", "")
        calls = [helper.make_node(kind, [x], [y], domain=domain) for x, y in (("x", "h"), ("h", "y"))]
        model.functions.append(helper.make_function("me", f"F{i}", ["x"], ["y"], calls, OPSETS))

    assert loaded(model).outputs == ["y"]


def outside(location, dims=(2,)):
    """An array that is said to lie in another file."""
    x = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    x.external_data.add(key="location", value=location)
    return one_node("Add", "a", initializers=[x])


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "link", "nowhere"])
def test_no_file_is_read_but_beside_the_model(location, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"\0" * 8)
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "net.onnx").write_bytes(outside(location).SerializeToString())

    with pytest.raises((SavedFileError, FileNotFoundError)):
        mg.onnx.load(folder / "net.onnx")


def test_an_array_beside_the_model_is_read_with_a_path_and_not_with_bytes(tmp_path, monkeypatch):
    (tmp_path / "weights").write_bytes(np.array([1, 2], "f4").tobytes())
    (tmp_path / "net.onnx").write_bytes(outside("weights").SerializeToString())
    monkeypatch.chdir(tmp_path)

    np.testing.assert_array_equal(mg.onnx.load(tmp_path / "net.onnx")(np.zeros(2, "f4")).numpy(), [1, 2])
    with pytest.raises(SavedFileError, match="w"):
        mg.onnx.load((tmp_path / "net.onnx").read_bytes())


def test_an_array_larger_than_the_file_is_refused():
    huge = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**40, 2**10], raw_data=b"123")

    with pytest.raises(SavedFileError):
        loaded(one_node("Add", "a", initializers=[huge]))


@pytest.mark.parametrize("name", ["MLP", "GRU", "CNN"])
def test_a_file_that_is_cut_or_changed_is_loaded_or_refused(name, tmp_path):
    """Never another error, and never a crash."""
    make, inputs = NETWORKS[name]
    mg.onnx.export(make(), inputs(2), tmp_path / "net.onnx")
    data, rng = (tmp_path / "net.onnx").read_bytes(), np.random.default_rng(0)
    cut = [data[:n] for n in range(0, len(data), max(len(data) // 60, 1))]
    changed = []
    for _ in range(300):
        part = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 9)):
            part[place] = rng.integers(256)
        changed.append(bytes(part))

    refused = 0
    for each in (*cut, *changed):
        try:
            assert isinstance(mg.onnx.load(each), nn.Module)
        except (SavedFileError, GraphError):
            refused += 1
    assert refused > len(cut)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        mg.onnx.load(tmp_path / "net.onnx")
