"""Functions in files: what is loaded computes, learns and is drawn as what was saved; what a file claims is checked."""

import copy
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_saved_state import count_refusals

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.errors import SavedFileError, ShapeError, StateError
from minigrad.engine.core.graph import Graph
from minigrad.files.saving import container
from minigrad.files.saving.graphs import OF_SESSIONS, OPS, PYTHONS_OWN, GraphDecoder, GraphEncoder, hints_of
from minigrad.tracing.builder import NamedNode
from tests.examples import EXAMPLES
from tests.support.other_processes import output_of
from tests.support.root import ROOT
from tests.support.table import table

mlp = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.BatchNorm1d(8), mg.nn.Dropout(0.3), mg.nn.Linear(8, 2))


def net():
    mg.manual_seed(0)
    net = copy.deepcopy(mlp)
    for p in net.parameters():
        with mg.no_grad():
            p.copy_(mg.randn(*p.shape) * 0.5)
    return net


def loaded(path, what, inputs=None):
    mg.save(path, what, inputs)
    return mg.load(path)


def gradients(f, model, *xs):
    """(result, gradients of the parameters by name, of the arguments) of the sum of squares, as bytes."""
    xs = [mg.tensor(x.numpy(), requires_grad=x.spec.is_float) for x in xs]
    y = f(*xs)
    (y * y).sum().backward()
    own = {name: p.grad.numpy().tobytes() for name, p in model.named_parameters()}
    return y.detach().numpy().tobytes(), own, [x.grad is not None and x.grad.numpy().tobytes() for x in xs]


# -- every op ---------------------------------------------------------------------------------------


def test_the_table_of_files_is_the_op_table():
    known = {op for name, op in OPS.items()}

    assert {*ops.TABLE} <= known
    assert not known & {getattr(ops, name) for name in PYTHONS_OWN | OF_SESSIONS}
    assert all(hints_of(op).keys() == {f.name for f in fields(op)} for op in known)


@table("kind", EXAMPLES, ids=lambda op: op.__name__)
def test_every_op_comes_back_as_it_was(kind):
    for op, *xs in EXAMPLES[kind]:
        given = tuple(NamedNode(ops.Input(f"x{i}"), (), mg.Tensor(x).spec, f"x{i}", None) for i, x in enumerate(xs))
        writer = GraphEncoder()
        said = json.loads(json.dumps(writer.graph(Graph(given, (mg.core.node.Node(op, given),)))))

        found = GraphDecoder(writer.arrays, []).graph(said)

        assert found.outputs[0].op == op
        assert type(found.outputs[0].op) is kind
        assert found.outputs[0].spec == op.infer(*(x.spec for x in given))


# -- models -----------------------------------------------------------------------------------------

NETS = {
    "mlp": (net, lambda: [mg.randn(5, 4)]),
    "lstm": (lambda: mg.nn.LSTM(3, 4, batch_first=True), lambda: [mg.randn(2, 5, 3)]),
    "cnn":
        (lambda: mg.nn.Sequential(
            mg.nn.Conv2d(1, 3, 3, padding=1), mg.nn.ReLU(), mg.nn.MaxPool2d(2), mg.nn.Flatten(), mg.nn.Linear(48, 2)),
         lambda: [mg.randn(2, 1, 8, 8)]),
    "gpt":
        (lambda: mg.zoo.GPT(mg.zoo.transformers.Size(2, 2, 8), vocabulary=11, context=8),
         lambda: [mg.randint(0, 11, (2, 6))]),
}  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_a_model_comes_back_with_its_gradients(tmp_path, name):
    make, inputs = NETS[name]
    model, xs = make(), inputs()
    first = model if name != "lstm" else First(model)
    found = loaded(tmp_path / "f", first, tuple(xs))
    assert isinstance(found, mg.saving.SavedFunction)

    random = mg.get_rng_state()
    wanted = gradients(mg.function(first), first, *xs)
    mg.set_rng_state(random)

    assert gradients(found, found, *xs) == wanted
    assert {n: x.numpy().tobytes() for n, x in found.state_dict().items()} == {
        n: x.numpy().tobytes() for n, x in first.state_dict().items() if n in found.state_dict()
    }
    assert {n for n, _ in found.named_parameters()} == {n for n, _ in first.named_parameters()}


class First(mg.nn.Module):
    """The outputs of an LSTM, without its state."""

    def __init__(self, lstm):
        self.lstm = lstm

    def forward(self, x):
        return self.lstm(x)[0]


def test_to_save_what_was_loaded_gives_the_same_bytes(tmp_path):
    def f(x):
        return {"y": x[1:] * 2, "z": (x.sum(), 3, None)}

    for what, inputs in ((net(), mg.TensorSpec((None, 4))), (mg.function(f), mg.TensorSpec((None,)))):
        first = loaded(tmp_path / "a", what, inputs)
        loaded(tmp_path / "b", first)

        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_training_goes_on_from_it(tmp_path):
    model = net()
    found = loaded(tmp_path / "f", model, mg.TensorSpec((None, 4)))
    x = mg.randn(6, 4)
    losses = []
    for each in (model, found):
        mg.manual_seed(1)
        optimizer = mg.optim.Adam(each.parameters(), lr=0.1)
        for _ in range(5):
            loss = (each(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())

    assert losses[0] == losses[1] < 0.3
    assert found.state_dict()["1.num_batches_tracked"].item() == 5


FRESH = """
import sys
import numpy as np
import minigrad as mg
f = mg.load("f.mg")
y = f(mg.tensor(np.load("x.npy")))
y.sum().backward()
np.savez("y.npz", y=y.numpy(), **{n: p.grad.numpy() for n, p in f.named_parameters()})
print(f.signature.inputs["x"].shape, [m for m in sys.modules if m == "model"])
"""
MODEL = """
import minigrad as mg
class Branching(mg.nn.Module):
    def __init__(self):
        self.layer = mg.nn.Linear(3, 3)
    def forward(self, x):
        h = self.layer(x).tanh()
        if h.sum() > 0:
            h = h * 2
        n = 0
        while (h * h).sum() > 1:
            h = h / 2
            n = n + 1
        return h + n
"""


class Shared(mg.nn.Module):
    """One layer under two names, a buffer that is in no state_dict, and a layer that the graph does not read."""

    def __init__(self):
        self.first = mg.nn.Linear(3, 3)
        self.unread = mg.nn.Linear(2, 2)
        self.second = self.first
        self.register_buffer("scale", mg.tensor([1.0, 2.0, 3.0]), persistent=False)
        self.norm = mg.nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(self.second(self.first(x) * self.scale))


@pytest.mark.parametrize("train", [True, False])
def test_a_loaded_model_and_its_original_load_each_others_state(tmp_path, train):
    """Names of what was shared were unexpected, and a buffer that is in no state was missing."""
    model, x = Shared().train(train), mg.randn(5, 3)
    mg.save(tmp_path / "m.mg", model, mg.TensorSpec((None, 3)))
    loaded = mg.load(tmp_path / "m.mg")
    other = Shared().train(train)

    assert [*loaded.state_dict()] == [*model.state_dict()]
    assert "unread.weight" in loaded.state_dict()
    assert len([*loaded.parameters()]) == len([*model.parameters()])
    loaded.load_state_dict(other.state_dict())
    np.testing.assert_array_equal(loaded(x).numpy(), other(x).numpy())
    model.load_state_dict(loaded.state_dict())
    np.testing.assert_array_equal(loaded(x).numpy(), model(x).numpy())
    assert loaded.variables["second.weight"] is loaded.variables["first.weight"]
    assert "second.weight" not in load_file(tmp_path / "m.mg")
    mg.save(tmp_path / "again.mg", mg.load(tmp_path / "m.mg"))
    assert (tmp_path / "again.mg").read_bytes() == (tmp_path / "m.mg").read_bytes()


def test_a_function_of_containers_takes_them_and_its_results_have_their_keys(tmp_path):
    def f(d, scale, *rest):
        return {"sum": d["a"] + scale * d["b"][0], "rest": [x * 2 for x in rest]}

    a, b, s, r = mg.tensor([1.0, 2.0]), mg.tensor([3.0, 4.0]), mg.tensor(10.0), mg.tensor([5.0])
    mg.save(tmp_path / "f.mg", f, ({"a": a, "b": [mg.TensorSpec((2,))]}, s, r))
    loaded = mg.load(tmp_path / "f.mg")
    mg.save(tmp_path / "g.mg", lambda d, scale: d["a"] * scale, ({"a": a}, s))
    other = mg.load(tmp_path / "g.mg")

    assert loaded.signature.outputs == ["sum", "rest[0]"]
    for found in (loaded(a, b, s, r), mg.function(loaded)(a, b, s, r)):
        assert found["sum"].numpy().tolist() == [31.0, 42.0]
        assert found["rest"][0].numpy().tolist() == [10.0]
    for args, options in [
        (({"a": a}, s), {}), ((), {"scale": s, "d": {"a": a}}), (({"a": a},), {"scale": s}), ((a, s), {}),
        ((), {"d['a']": a, "scale": s}),
    ]:  # fmt: skip
        assert other(*args, **options).numpy().tolist() == [10.0, 20.0]
    for args, options in [
        (({"b": a}, s), {}), (({"a": a}, s, s), {}), (([a], s), {}), ((a, s), {"scale": s}),
        (({"a": a, "b": b}, s), {}), (({"a": a},), {}),
    ]:  # fmt: skip
        with pytest.raises(ShapeError, match="was saved for"):
            other(*args, **options)


def test_a_plain_function_is_traced_for_its_inputs_and_refused_without(tmp_path):
    """It was refused as "a function, which a saved file does not hold", with inputs and without."""
    mg.save(tmp_path / "f.mg", lambda a: a * 2, mg.TensorSpec((None,)))

    assert mg.load(tmp_path / "f.mg")(mg.ones(3)).numpy().tolist() == [2.0] * 3
    with pytest.raises(StateError, match=r"mg.save\(path, model, inputs\); or .* that mg.function has traced"):
        mg.save(tmp_path / "f.mg", lambda a: a * 2)
    with pytest.raises(StateError, match=r"mg\.save takes inputs only with a model or a function, but got them with"):
        mg.save(tmp_path / "f.mg", {"w": mg.ones(2)}, mg.TensorSpec((None,)))


@pytest.mark.parametrize("optimizer", [mg.optim.Adam, lambda p: mg.optim.SGD(p, lr=0.1, momentum=0.9)])
def test_a_training_step_is_saved_and_goes_on_as_the_original_does(tmp_path, optimizer):
    model = net()
    optimizer = optimizer(model.parameters())

    @mg.function
    def step(x, t):
        optimizer.zero_grad()
        loss = ((model(x) - t) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    xs, ts = mg.randn(6, 8, 4), mg.randn(6, 8, 2)
    for x, t in zip(xs[:2], ts[:2]):
        step(x, t)
    found = loaded(tmp_path / "step.mg", step)
    mg.save(tmp_path / "again.mg", found)
    mg.manual_seed(1)
    wanted = [step(x, t) for x, t in zip(xs[2:], ts[2:])]
    mg.manual_seed(1)
    came = [found(x, t) for x, t in zip(xs[2:], ts[2:])]

    assert [y.item() for y in came] == [y.item() for y in wanted]
    assert not came[0].requires_grad
    named = dict(found.named_parameters())
    for name, p in model.named_parameters():
        np.testing.assert_array_equal(named[f"model.{name}"].numpy(), p.numpy())
        np.testing.assert_array_equal(named[f"model.{name}"].grad.numpy(), p.grad.numpy())
    assert (tmp_path / "again.mg").read_bytes() == (tmp_path / "step.mg").read_bytes()
    found.variables["model.0.weight"].requires_grad_(False)
    with pytest.raises(StateError, match=r"whether model\.0\.weight requires a gradient"):
        found(xs[0], ts[0])
    inside = mg.function(mg.load(tmp_path / "step.mg"))
    mg.manual_seed(1)
    assert [inside(x, t).item() for x, t in zip(xs[2:], ts[2:])] == [y.item() for y in wanted]


def test_a_function_that_adds_to_no_grad_is_refused_where_there_is_one(tmp_path):
    w = mg.tensor([1.0, 2.0], requires_grad=True)

    def trained(x):
        loss = (x * w).sum()
        loss.backward()
        return loss

    found = loaded(tmp_path / "f", trained, mg.ones(2))
    assert found(mg.tensor([3.0, 4.0])).item() == 11.0
    assert found.variables["w"].grad.tolist() == [3.0, 4.0]
    with pytest.raises(StateError, match=r"whether w .* has a .grad to add to, .* zero_grad\(\)"):
        found(mg.ones(2))
    found.zero_grad()
    found(mg.ones(2))
    assert found.variables["w"].grad.tolist() == [1.0, 1.0]


def test_a_fresh_process_without_the_source_gives_the_same(tmp_path):
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(4, 3)))
    here = (
        "import numpy as np, minigrad as mg, model\nmg.manual_seed(0)\nm = model.Branching()\n"
        'mg.save("f.mg", m, mg.TensorSpec((None, 3)))\ny = m(mg.tensor(np.load("x.npy")))\ny.sum().backward()\n'
        'np.savez("wanted.npz", y=y.numpy(), **{n: p.grad.numpy() for n, p in m.named_parameters()})\n'
    )

    output_of(here, cwd=tmp_path)
    (tmp_path / "model.py").unlink()
    said = output_of(FRESH, cwd=tmp_path)

    with np.load(tmp_path / "wanted.npz") as wanted, np.load(tmp_path / "y.npz") as came:
        assert {n: a.tobytes() for n, a in wanted.items()} == {n: a.tobytes() for n, a in came.items()}
    assert said == "(None, 3) []\n"


# -- functions --------------------------------------------------------------------------------------


def test_lengths_that_are_not_known_stay_unknown(tmp_path):
    @mg.function(input_signature=[mg.TensorSpec(("rows", "columns")), mg.TensorSpec(("columns",))])
    def f(x, w):
        wide = x[:, 1:-1].reshape(-1)
        return (x * w).mean(1), wide[: len(wide) // 2], x.T, wide.sum() / len(wide), x[:9].sum(0)

    xs = [mg.randn(3, 5), mg.randn(5)]
    f(*xs)
    found = loaded(tmp_path / "f", f)

    for rows, columns in ((3, 5), (12, 4)):
        xs = [mg.randn(rows, columns), mg.randn(columns)]
        assert [y.tolist() for y in found(*xs)] == [y.tolist() for y in f(*xs)]
    assert found.signature.inputs["x"].shape == (None, None)
    assert found.signature.outputs == [f"output[{i}]" for i in range(5)]
    with pytest.raises(ShapeError):
        found(mg.randn(3, 5), mg.randn(4))


def test_lengths_of_two_files_are_not_taken_for_equal(tmp_path):
    """Each process counts its unknown lengths from 1."""
    f = mg.function(lambda x: x * 2, input_signature=[mg.TensorSpec((3, None))])
    g = loaded(tmp_path / "a", f, mg.TensorSpec((3, None)))
    h = loaded(tmp_path / "b", f, mg.TensorSpec((3, None)))

    assert g.graph.inputs[0].spec != h.graph.inputs[0].spec
    assert loaded(tmp_path / "c", g).graph.inputs[0].spec.shape[1] != g.graph.inputs[0].spec.shape[1]


def test_calls_of_several_kinds_are_in_one_file(tmp_path):
    w = mg.tensor([2.0], requires_grad=True)

    @mg.function
    def f(x):
        return x * w if x.ndim == 1 else (x * w).sum(0)

    f(mg.ones(3)), f(mg.ones(2, 3))
    found = loaded(tmp_path / "f", f)

    assert found(mg.ones(3)).tolist() == [2, 2, 2]
    assert found(x=mg.ones(2, 3)).tolist() == [4, 4, 4]
    assert [*found.state_dict()] == ["w"]
    assert len(found.signatures) == 2
    with pytest.raises(ShapeError, match=r"x: f64\[3\].* or .*x: f64\[2, 3\].*f64\[7\]"):
        found(mg.ones(7))
    with pytest.raises(ShapeError, match="wrong"):
        found(wrong=mg.ones(3))
    with pytest.raises(ShapeError, match="f32"):
        found(mg.ones(3).float())


def test_graphs_that_differ_in_what_is_no_tensor_are_not_saved_together(tmp_path):
    """The first of them answered for all."""
    scaled = mg.function(lambda x, k=2: x * k)
    layer = mg.nn.BatchNorm1d(4)
    norm = mg.function(layer)
    scaled(mg.ones(2), 3)
    norm(mg.ones(3, 4))
    layer.eval()
    for f, x in ((scaled, mg.ones(2)), (norm, mg.ones(3, 4))):
        wanted = f(x)
        with pytest.raises(StateError, match="several graphs for"):
            mg.save(tmp_path / "f.mg", f)
        assert loaded(tmp_path / "f.mg", f, x)(x).numpy().tobytes() == wanted.numpy().tobytes()


def test_a_loaded_function_is_traced_compiled_mapped_and_drawn(tmp_path):
    model = net().eval()
    found = loaded(tmp_path / "f", model, mg.TensorSpec((None, 4)))
    x = mg.randn(5, 4)
    wanted = model(x).numpy()

    for f in (mg.function(found), mg.function(found, jit_compile=True), mg.jit(found)):
        np.testing.assert_allclose(f(x).numpy(), wanted, rtol=1e-12)  # rounding of sums taken in another order
    open_ = mg.function(found, input_signature=[mg.TensorSpec((None, 4))])
    np.testing.assert_array_equal(open_(x).numpy(), wanted)
    np.testing.assert_allclose(mg.vmap(lambda row: found(row[None])[0])(x).numpy(), wanted, rtol=1e-12)
    assert "boxes" in repr(mg.draw(found.graph))
    node = next(n for n in found.graph.nodes if isinstance(n.op, ops.Affine))
    assert node.place.file == f"<{Path(__file__).name}>"
    assert node.place.module == "Sequential.0"
    assert "Sequential" in repr(found)


def test_random_numbers_are_drawn_anew_and_a_scan_keeps_its_gradient(tmp_path):
    w = mg.tensor(0.5, requires_grad=True)

    @mg.function
    def f(x):
        def step(c, row):
            return c * w + row, c

        last, _ = mg.lax.scan(step, mg.zeros(2), x)
        return last + mg.rand(2)

    x = mg.randn(4, 2)
    f(x)
    found = loaded(tmp_path / "f", f)
    mg.manual_seed(1)
    first, second = f(x), f(x)
    first.sum().backward()
    mg.manual_seed(1)
    came = found(x)
    came.sum().backward()

    assert came.tolist() == first.tolist()
    assert found(x).tolist() == second.tolist()
    assert found.variables["w"].grad.item() == w.grad.item()


def test_what_holds_python_is_refused_with_its_line(tmp_path):
    @mg.custom_vjp
    def own(x):
        return x * 2

    own.defvjp(lambda x: (own(x), ()), lambda kept, gy: (gy,))
    generator = mg.Generator(3)
    line = {}

    def py(x):
        line["at"] = sys._getframe().f_lineno + 1
        return mg.py_func(np.sort, [x], mg.TensorSpec((3,)))

    def probed(x):
        probes.append(mg.probe(x))
        return x * 2

    probes = []
    cases = {"PyFunc": py, "Custom": own, "Keep": probed, "Generator": lambda x: x * mg.rand(3, generator=generator)}
    for name, f in cases.items():
        with pytest.raises(StateError, match=r"built at .*test_saved_graphs.py:\d+, in .* cannot be saved") as refused:
            mg.save(tmp_path / "f", mg.function(f), mg.ones(3))
        assert name != "PyFunc" or f":{line['at']}" in str(refused.value)
    assert not [*tmp_path.iterdir()]


def test_what_a_graph_alone_does_not_do_again_is_refused(tmp_path):
    w, there = mg.tensor(1.0, requires_grad=True), mg.tensor(1.0)

    def trained(x):
        loss = (x * w).sum()
        loss.backward()
        return loss

    def forgot(x):
        w.grad = None
        return x * w

    def said(x):
        w.grad = there
        return x * w

    def asks(x):
        return trained(x) if w.grad is None else x

    for f, before in ((trained, mg.tensor(2.0)), (forgot, None), (said, None), (asks, mg.tensor(1.0))):
        w.grad = before
        with pytest.raises(StateError, match=r"adds to an existing .grad, or sets one other than by back"):
            mg.save(tmp_path / "f", f, mg.ones(3))
    with pytest.raises(StateError, match="edits its argument x"):
        mg.save(tmp_path / "f", mg.function(lambda x: x.add_(1)), mg.ones(3))
    with pytest.raises(StateError, match=r"edits y = x.detach\(\)"):
        mg.save(tmp_path / "f", mg.function(lambda x: there.data.mul_(w * x.sum())), mg.ones(3))
    with pytest.raises(StateError, match="was not traced yet"):
        mg.save(tmp_path / "f", mg.function(lambda x: x))
    with pytest.raises(StateError, match=r"mg.save\(path, model, inputs\)"):
        mg.save(tmp_path / "f", net())


def test_the_page_shows_what_is_written(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "saved_graphs.md").read_text(encoding="utf-8")
    code, text = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("python", "json"))
    monkeypatch.chdir(tmp_path)
    Path("example.py").write_text(code, encoding="utf-8")
    subprocess.run([sys.executable, "example.py"], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)

    assert json.loads(container.read("f.mg")[1]) == json.loads(text)
    assert all(f"| `{key}`" in page for key in json.loads(text))


# -- hostile files ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with a branch, a loop, lengths and variables: its path, and what is in it."""
    path = tmp_path_factory.mktemp("whole") / "f"
    w = mg.tensor([0.5, 2.0], requires_grad=True)
    t = mg.tensor([1, 2])

    def f(x):
        y = x[:, 1:3] * w + t
        if y.sum() > 0:
            y = y * 2
        return y.mean(0), y.max(0), y[: len(y) // 2].mean(), x.reshape(-1)

    mg.save(path, mg.function(f), mg.TensorSpec((None, 4)))
    arrays, text = container.read(path)
    mg.load(path)(mg.ones(3, 4))
    return path, arrays, text


def nodes_of(said):
    return said["parts"][0]["graph"]["nodes"]


def first(said, op):
    return next(node for node in nodes_of(said) if node["op"] == op)


BAD = {
    "a cycle": lambda s: nodes_of(s)[-1]["inputs"].__setitem__(0, len(nodes_of(s)) - 1),
    "a node before its input": lambda s: nodes_of(s)[4]["inputs"].append(len(nodes_of(s)) - 1),
    "a negative input": lambda s: nodes_of(s)[-1]["inputs"].__setitem__(0, -1),
    "an input that is no number": lambda s: nodes_of(s)[-1]["inputs"].__setitem__(0, True),
    "an unknown op": lambda s: first(s, "Mul").update(op="System"),
    "an op of Python": lambda s: first(s, "Mul").update(op="PyFunc", fields={"f": "os.system"}),
    "a path to an op": lambda s: first(s, "Mul").update(op="os.system"),
    "an op that is a list": lambda s: first(s, "Mul").update(op=["Mul"]),
    "a field too many": lambda s: first(s, "Mean")["fields"].update(more=1),
    "a field too few": lambda s: first(s, "Mean")["fields"].popitem(),
    "a field of another type": lambda s: first(s, "Mean")["fields"].update(axes="0"),
    "a field that is a list": lambda s: first(s, "Mean")["fields"].update(axes=[0]),
    "an axis that is not there": lambda s: first(s, "Mean")["fields"].update(axes={"tuple": [7]}),
    "another shape": lambda s: first(s, "Mean")["spec"].__setitem__(1, [3]),
    "another dtype": lambda s: first(s, "Mean")["spec"].__setitem__(0, "F32"),
    "a negative length": lambda s: nodes_of(s)[0]["spec"].__setitem__(1, [-1, 4]),
    "a length that is a float": lambda s: nodes_of(s)[0]["spec"].__setitem__(1, [1.5, 4]),
    "a shape of exabytes": lambda s: nodes_of(s)[0]["spec"].__setitem__(1, [2**40, 2**40]),
    "a length called by code": lambda s: nodes_of(s)[0]["spec"][1].__setitem__(0, {"length": [[["a;b"], 1]]}),
    "an unknown formula": lambda s: nodes_of(s)[0]["spec"][1].__setitem__(0, {"formula": ["system", 1]}),
    "a power": lambda s: nodes_of(s)[0]["spec"][1].__setitem__(0, {"formula": ["pow", 9, 2**40]}),
    "a shift": lambda s: nodes_of(s)[0]["spec"][1].__setitem__(0, {"formula": ["lshift", 9, 2**40]}),
    "a name of two lines": lambda s: first(s, "Mul").update(name="Mul\nimport os"),
    "a name that ends a comment": lambda s: first(s, "Mul").update(name="*/ system(); /*"),
    "a quote in a field": lambda s: nodes_of(s)[0]["fields"].update(name="x' + y"),
    "an input of two lines": lambda s: nodes_of(s)[0]["fields"].update(name="x\nimport os"),
    "a line that goes on": lambda s: first(s, "Mul").update(name="Mul\\"),
    "a file of two lines": lambda s: s["places"].__setitem__(0, ["<a\nb>", 1, "f", ""]),
    "a file that is there": lambda s: s["places"].__setitem__(0, ["/etc/passwd", 1, "f", ""]),
    "a place that is not there": lambda s: first(s, "Mul").update(place=99),
    "an output that is not there": lambda s: s["parts"][0]["graph"]["outputs"].__setitem__(0, 999),
    "a result that is not there": lambda s: s["parts"][0].update(result={"output": 9}),
    "a result of several": lambda s: s["parts"][0].update(result={"output": None}),
    "a view that is none": lambda s: s["parts"][0].update(result={"view": [{"output": 0}, {"op": "Exp"}]}),
    "a variable that is not there": lambda s: s["variables"].update(other=True),
    "a variable that is not said": lambda s: s["variables"].pop("w"),
    "another name for what is not there": lambda s: s["variables"].update(other="nothing"),
    "another name for what comes later": lambda s: s.update(variables={"other": "w"} | s["variables"]),
    "a variable that is a number": lambda s: s["variables"].update(w=1),
    "a gradient of an argument": lambda s: s["parts"][0].update(grads=[[0, None, True]]),
    "a gradient of what is not there": lambda s: s["parts"][0].update(grads=[[999, None, True]]),
    "a gradient of another shape": lambda s: s["parts"][0].update(grads=[[1, 3, True]]),
    "a gradient too short": lambda s: s["parts"][0].update(grads=[[1, None]]),
    "gradients that are none": lambda s: s["parts"][0].update(grads=None),
    "an integer that learns": lambda s: s["variables"].update(t=True),
    "a graph that reads less": lambda s: s["parts"][0]["reads"].pop(),
    "variables in another order": lambda s: s["parts"][0]["reads"].reverse(),
    "an edit of an argument": lambda s: s["parts"][0].update(edits=[[0, 0]]),
    "an edit of another shape": lambda s: s["parts"][0].update(edits=[[1, 3]]),
    "no parts": lambda s: s.update(parts=[]),
    "places that are none": lambda s: s.update(places={}),
    "a constant of another sign": lambda s: first(s, "Const")["fields"].update(sign=-1.0),
    "a constant that is text": lambda s: first(s, "Const")["fields"].update(value="1"),
    "more than a function": lambda s: s.update(more=1),
    "branches that differ": lambda s: first(s, "Cond")["fields"]["true"]["graph"]["outputs"].pop(),
    "fewer inputs than said": lambda s: s["parts"][0]["graph"].update(inputs=1),
}


@table("name", BAD)
def test_a_graph_that_cannot_be_is_refused(tmp_path, whole, name):
    _, arrays, text = whole
    said = json.loads(text)
    BAD[name](said)
    assert json.dumps(said, separators=(",", ":")) != text
    container.write_arrays(tmp_path / "f", arrays, json.dumps(said))

    with pytest.raises(SavedFileError):
        mg.load(tmp_path / "f")


def test_an_order_that_would_take_for_ever_is_refused():
    """The result of an elementwise op is inferred by computing with no elements, and this one multiplies n numbers."""
    node = {"op": "Input", "fields": {"name": "x"}, "inputs": [], "spec": ["F64", [2]]}
    endless = {"op": "PolyGamma", "fields": {"n": 2**62}, "inputs": [0], "spec": ["F64", [2]]}

    with pytest.raises(SavedFileError, match="order above 150"):
        GraphDecoder({}, []).graph({"nodes": [node, endless], "inputs": 1, "outputs": [1]})
    with pytest.raises(ValueError, match="order above 150"):
        mg.polygamma(2**62, mg.ones(1))


def parts_of(said):
    """Every (container, key) in JSON."""
    for key, x in said.items() if isinstance(said, dict) else enumerate(said):
        yield said, key
        if isinstance(x, dict | list):
            yield from parts_of(x)


def test_any_change_of_a_graph_gives_one_that_runs_or_is_refused(whole):
    """Values swapped for others of the file, or strange ones; what is taken has specs that its ops confirm."""
    _, arrays, text = whole
    rng = np.random.default_rng(0)
    strange = [None, True, -1, 2**63, 1e300, "", "w", [], {}, {"tuple": []}, {"length": [[["n"], 1]]}, [[]], "F16"]
    taken = 0
    for _ in range(1500):
        said = json.loads(text)
        places = [*parts_of(said)]
        for _ in range(rng.integers(1, 3)):
            there, key = places[rng.integers(len(places))]
            other, its = places[rng.integers(len(places))]
            if isinstance(there, dict) or key < len(there):
                swap = rng.random() < 0.5 and (isinstance(other, dict) or its < len(other))
                there[key] = copy.deepcopy(other[its] if swap else strange[rng.integers(len(strange))])
        taken += is_taken(json.dumps(said), arrays)

    assert 0 < taken < 700


def is_taken(text, arrays):
    """Whether a text is taken; each node of it is then what its op infers."""
    try:
        found = mg.saving.files.decode_contents(text, arrays)
    except SavedFileError:
        return False
    for node in found.graph.nodes if isinstance(found, mg.saving.SavedFunction) else ():
        if node.inputs:
            assert node.spec == node.op.infer(*(x.spec for x in node.inputs))
    return True


def test_a_byte_that_changed_gives_a_function_or_is_refused(tmp_path, whole):
    refused = count_refusals(tmp_path / "f", whole[0].read_bytes(), 1000)

    assert 500 < refused < 1000  # a name, a line, an element may be another
