"""Export to ONNX: what ONNX Runtime, or the onnx package's reference, computes from the file is what we compute."""

import gc
from contextlib import nullcontext

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, ops
from minigrad.engine.base.errors import GraphError
from minigrad.engine.base.pytree import leaves
from minigrad.engine.core.node import Place
from minigrad.engine.tensor.tensor import Tensor
from tests.examples import CASES, title
from tests.support.onnx_engines import session_of
from tests.support.table import table

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
reference = pytest.importorskip("onnx.reference")
OnnxNumPy = pytest.importorskip("minigrad.files.onnx.recorder").OnnxNumPy
runtime.set_default_logger_severity(4)

REFUSED = {
    "no matrix factorisations in ONNX": {
        ops.Cholesky, ops.Cofactors, ops.Eigenvalues, ops.Eigenvectors, ops.Exchanged, ops.Inverse, ops.LogAbsDet,
        ops.MatrixExp, ops.Orthonormal, ops.Pivots, ops.PseudoInverse, ops.SignDet, ops.Solve, ops.Svd,
    },
    "ONNX's random numbers are no function of a key": {
        ops.FoldIn, ops.RandomBernoulli, ops.RandomBits, ops.RandomChoice, ops.RandomIntegers, ops.RandomNormal,
        ops.RandomPermutation, ops.RandomTruncatedNormal, ops.RandomUniform, ops.SplitKey,
    },
}  # fmt: skip
NOT_IN_RUNTIME = {
    ops.Acos, ops.Acosh, ops.Asin, ops.Asinh, ops.Atan, ops.Atan2, ops.Atanh, ops.Cosh, ops.Det, ops.Sinh,
}  # of float64: there the reference is asked  # fmt: skip


def single(x):
    return Tensor(x.numpy().astype("f4")) if x.spec.dtype == np.float64 else x


def f4(*shape, seed=0):
    return mg.tensor(np.random.default_rng(seed).standard_normal(shape).astype("f4"))


def classes(n, *shape):
    return mg.tensor(np.random.default_rng(1).integers(0, n, shape))


def run(path, *args):
    """What ONNX Runtime gives for these."""
    made = session_of(path)
    return made.run(None, {x.name: a.numpy() for x, a in zip(made.get_inputs(), args, strict=True)})


def agree(got, wanted, rtol=1e-4):
    for y, z in zip(got, leaves(wanted), strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_allclose(y, z.numpy(), rtol=rtol, atol=rtol / 10)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def check_export(f, args, path, rtol=1e-4, **options):
    """What ONNX Runtime gives is what f gives."""
    mg.onnx.export(f, args, path, **options)
    args = args if isinstance(args, tuple) else (args,)
    agree(run(path, *args), f(*args), rtol)


# -- every op -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f4", "f8"])
@table("case", CASES, ids=title, groups=8)
def test_every_op_is_exported_with_its_numbers_or_refused_by_name(case, precision, path):
    op, *xs = case
    path.unlink(missing_ok=True)
    xs = [single(x) for x in xs] if precision == "f4" else xs
    certain = getattr(op, "p", 0) == 1.0  # a draw that asks no key
    if any(type(op) in kinds for kinds in REFUSED.values()) and not certain:
        with pytest.raises(GraphError, match=type(op).__name__):
            mg.onnx.export(lambda *xs: xs[0].apply(op, *xs[1:]), tuple(xs), path)
        assert not path.exists()
        return

    not_there = precision == "f8" and type(op) in NOT_IN_RUNTIME
    with pytest.warns(UserWarning, match=r"of float64 .*net\.float") if not_there else nullcontext():
        mg.onnx.export(lambda *xs: xs[0].apply(op, *xs[1:]), tuple(xs), path)

    if not_there:
        with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
            session_of(path)
        model = onnx.load(path)
        got = reference.ReferenceEvaluator(model).run(None, {i.name: x.numpy() for i, x in zip(model.graph.input, xs)})
    else:
        got = run(path, *xs)
    agree(got, Tensor(np.asarray(op.forward(np, *(x.numpy() for x in xs)))), rtol=1e-5 if precision == "f4" else 1e-10)


# -- networks -------------------------------------------------------------------------------------------


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).float()


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 5, padding=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, stride=2),
        nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(24, 10),
    ).float().eval()  # fmt: skip


class Residual(nn.Module):
    """A block of ResNet-18."""

    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x):
        return (x + self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))).relu()


class Speller(nn.Module):
    """Letters in, a recurrent network over them, and a guess."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(self.embedding(x))
        return self.head(y[:, -1]), h, c


class GPT(nn.Module):
    """One block of it."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(13, 16), nn.Embedding(32, 16)
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 13)

    def forward(self, x):
        B, T = x.shape
        h = self.token(x) + self.position(mg.arange(T))
        q, k, v = (a.reshape(B, T, 2, 8).transpose(1, 2) for a in self.qkv(self.norm(h)).chunk(3, -1))
        y = mg.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.out(y.transpose(1, 2).reshape(B, T, 16))
        return self.head(h + self.mlp(h))


NETWORKS = {
    "MLP": (mlp, lambda n: f4(n, 4)), "CNN": (cnn, lambda n: f4(n, 1, 28, 28)[..., :20, :20]),
    "ResNet block": (lambda: Residual(3).float().eval(), lambda n: f4(n, 3, 6, 6)),
    "LSTM": (lambda: Speller().float(), lambda n: classes(11, n, 7)),
    "GRU": (lambda: nn.GRU(4, 5, batch_first=True).float(), lambda n: f4(n, 3, 4)),
    "Transformer":
        (lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).float().eval(), lambda n: f4(n, 5, 16)),
    "GPT": (lambda: GPT().float(), lambda n: classes(13, n, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_runs_in_onnx_runtime_with_the_same_numbers(name, path):
    make, inputs = NETWORKS[name]
    net, x = make(), inputs(2)

    check_export(net, x, path)
    assert {n.name for n in onnx.load(path).graph.initializer} >= {n for n, p in net.named_parameters() if p.ndim > 1}


@pytest.mark.parametrize(("make", "inputs"), NETWORKS.values(), ids=NETWORKS)
def test_a_batch_of_unknown_length_runs_at_others(make, inputs, path):
    net = make()

    mg.onnx.export(net, inputs(2), path, input_names=["x"], output_names=None, dynamic_axes={"x": {0: "batch"}})

    assert onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    for n in (1, 2, 5):
        agree(run(path, inputs(n)), net(inputs(n)))


@pytest.mark.parametrize("opset", [20, 22, 24])
def test_other_opsets(opset, path):
    check_export(GPT().float(), classes(13, 2, 8), path, opset=opset)

    model = onnx.load(path)
    assert (model.ir_version, [o.version for o in model.opset_import]) == (10, [opset])


def test_a_length_that_is_calculated_with(path):
    net = GPT().float()
    mg.onnx.export(net, classes(13, 2, 8), path, dynamic_axes={"x": [0, 1]})

    for shape in ((1, 3), (4, 9)):
        agree(run(path, classes(13, *shape)), net(classes(13, *shape)))


@pytest.mark.parametrize("name", ["MLP", "CNN", "LSTM", "GPT"])
def test_a_training_graph_gives_gradients(name, path):
    make, inputs = NETWORKS[name]
    net, x = make(), inputs(2)
    parameters = list(net.parameters())

    def loss_and_gradients(x):
        y = net(x)[0] if name == "LSTM" else net(x)
        target = classes(3, y.shape[0] * (8 if name == "GPT" else 1))
        loss = mg.functional.cross_entropy(y.reshape(-1, y.shape[-1]), target)
        return loss, *mg.autograd.grad(loss, parameters)

    check_export(loss_and_gradients, x, path)


def test_a_training_graph_for_batches_of_all_lengths(path):
    net = mlp()

    def loss_and_gradients(x, target):
        loss = mg.functional.cross_entropy(net(x), target)
        return loss, *mg.autograd.grad(loss, list(net.parameters()))

    axes = {"x": {0: "n"}, "target": {0: "n"}}
    mg.onnx.export(loss_and_gradients, (f4(2, 4), classes(3, 2)), path, dynamic_axes=axes)

    for n in (1, 6):
        agree(run(path, f4(n, 4), classes(3, n)), loss_and_gradients(f4(n, 4), classes(3, n)))


def test_convolutions_in_double_precision_run_where_lengths_are_known(path):
    """ONNX Runtime has no Conv of float64: windows are multiplied instead, with a warning for unknown lengths."""
    net, x = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.AvgPool2d(2), nn.ConvTranspose2d(4, 1, 2)), f4(2, 2, 6, 6)
    net, x = net.double(), mg.tensor(x.numpy().astype("f8"))

    check_export(net, x, path, rtol=1e-10)
    assert not {"Conv", "ConvTranspose", "AveragePool"} & kinds(path)
    with pytest.warns(UserWarning, match=r"no AveragePool, Conv, ConvTranspose of float64 .*net\.float"):
        mg.onnx.export(net, x, path, dynamic_axes={"input": [0]})


def test_half_precision(path):
    check_export(mlp().half(), mg.tensor(f4(2, 4).numpy().astype("f2")), path, rtol=1e-2)


# -- control flow ---------------------------------------------------------------------------------------


def kinds(path):
    return {node.op_type for node in onnx.load(path).graph.node}


@pytest.mark.parametrize("sign", [1, -1])
def test_an_if_is_an_if(sign, path):
    def f(x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        return y

    mg.onnx.export(f, abs(f4(3)), path)

    assert "If" in kinds(path)
    agree(run(path, sign * abs(f4(3))), f(sign * abs(f4(3))))


def test_a_while_is_a_loop(path):
    def f(x, limit):
        n = mg.tensor(0)
        while x.sum() < limit:
            x = x * 2
            n = n + 1
        return x, n

    mg.onnx.export(f, (abs(f4(3)), mg.tensor(9.0)), path)

    assert "Loop" in kinds(path)
    for limit in (0.0, 9.0, 1e4):
        agree(run(path, abs(f4(3)), mg.tensor(limit)), f(abs(f4(3)), mg.tensor(limit)))


def test_a_for_runs_at_any_length_and_its_gradient_at_one(path):
    def f(xs):
        h = xs[0] * 0
        for x in xs:
            h = (h * 0.5 + x).tanh()
        return h

    def both(xs):
        return f(xs), mg.autograd.grad(f(xs).sum(), xs)[0]

    for g, lengths, axes in ((f, (1, 7), [0]), (both, (4,), [])):
        mg.onnx.export(g, mg.tensor(f4(4, 3).numpy(), requires_grad=True), path, dynamic_axes={"xs": axes})
        for n in lengths:
            xs = mg.tensor(f4(n, 3).numpy(), requires_grad=True)
            agree(run(path, xs), g(xs))


def test_an_export_is_freed_with_all_its_weights(path):
    """The table behind lgamma was cached under the array module that wrote the file, and so kept 128 of them."""
    gc.collect()
    before = {id(x) for x in gc.get_objects() if issubclass(type(x), OnnxNumPy)}
    mg.onnx.export(lambda x: x.lgamma(), f4(3), path)
    gc.collect()
    assert not [x for x in gc.get_objects() if issubclass(type(x), OnnxNumPy) and id(x) not in before]


PLANES, SQUARE = ((2, 3, 7, 6), (1, 3, 4, 4)), ((2, 3, 5, 5), (2, 3, 7, 6))
SEQUENCES = ((2, 4, 5), (3, 6, 5), (1, 2, 5))
ANY_LENGTH = {
    "lstm": (lambda: nn.LSTM(5, 3, batch_first=True), [0, 1], SEQUENCES),
    "lstm with a projection": (lambda: nn.LSTM(5, 3, bidirectional=True, proj_size=2), [0, 1], SEQUENCES),
    "gru": (lambda: nn.GRU(5, 3), [0, 1], ((2, 4, 5), (6, 3, 5))),
    "instance norm": (lambda: nn.InstanceNorm2d(3), [0, 2, 3], PLANES),
    "group norm": (lambda: nn.GroupNorm(1, 3), [2, 3], SQUARE),
    **{
        f"{mode} padding": (lambda mode=mode: lambda input: mg.functional.pad(input, (2, 1), mode), [0, 1],
                            ((2, 4), (3, 3), (1, 7)))
        for mode in ("reflect", "replicate", "circular")
    },
    "average of a plane": (lambda: lambda input: mg.nn.functional.adaptive_avg_pool2d(input, 1), [2, 3], SQUARE),
}  # fmt: skip


@pytest.mark.parametrize("name", ANY_LENGTH)
def test_layers_at_any_length(name, path):
    make, axes, (first, *others) = ANY_LENGTH[name]
    net = make()
    net = net.float() if isinstance(net, nn.Module) else net

    mg.onnx.export(net, f4(*first), path, dynamic_axes={"input": axes})

    for shape in others:
        agree(run(path, f4(*shape)), net(f4(*shape)))


@pytest.mark.parametrize("f", [lambda x: x.cumprod(0), lambda x: mg.cummax(x, 0)[0], lambda x: mg.logcumsumexp(x, 0),
                               lambda x: mg.nn.functional.max_pool1d(x.T, 2, ceil_mode=True)])  # fmt: skip
def test_what_needs_a_length_says_so_and_ends(f, path):
    with pytest.raises(GraphError, match="needs the length x_axis_0"):
        mg.onnx.export(f, f4(4, 3), path, dynamic_axes={"x": [0]})


# -- the file -------------------------------------------------------------------------------------------


def test_names_are_those_that_were_said(path):
    def f(pair, scale):
        return pair["a"] * scale, pair["b"], 3 * pair["a"]

    args = ({"a": f4(2), "b": f4(3)}, 2.0)
    mg.onnx.export(f, args, path, input_names=["left", "right"], output_names=["x", "same", "y"])

    made = session_of(path)
    assert [[x.name for x in xs] for xs in (made.get_inputs(), made.get_outputs())] == [
        ["left", "right"], ["x", "same", "y"]
    ]  # fmt: skip
    agree(run(path, f4(2), f4(3)), f(*args))


def test_results_in_a_dictionary_have_its_keys_for_names(path):
    def f(x):
        return {"score": x * 2, "rest": (x, x + 1)}

    check_export(f, f4(2), path)

    assert [x.name for x in session_of(path).get_outputs()] == ["score", "rest___0", "rest___1"]


def test_nodes_are_named_after_their_modules(path):
    mg.onnx.export(GPT().float(), classes(13, 2, 8), path)

    assert any(node.name.startswith("GPT/mlp/1/") for node in onnx.load(path).graph.node)


def test_a_refusal_names_the_op_and_the_line_and_leaves_the_old_file(path):
    def f(x):
        return mg.linalg.inv(x)

    path.write_bytes(b"before")
    with pytest.raises(GraphError) as refusal:
        mg.onnx.export(f, f4(3, 3), path)

    line = f.__code__.co_firstlineno + 1
    assert str(refusal.value).startswith(f"Inverse ({Place(__file__, line, 'f')}) cannot be written in ONNX")
    assert path.read_bytes() == b"before"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_an_effect_does_not_happen_and_is_refused(path, capsys):
    def f(x):
        return mg.print(x) * 2

    with pytest.raises(GraphError, match="Print"):
        mg.onnx.export(f, f4(2), path)

    assert capsys.readouterr().out == ""


def test_what_a_run_would_change_is_refused(path):
    with pytest.raises(GraphError, match=r"changes .*running_mean.*net.eval\(\)"):
        mg.onnx.export(nn.BatchNorm1d(3), f4(4, 3), path)


@pytest.mark.parametrize(("options", "words"), [
    ({"opset": 19}, "opset 20 to 24"), ({"opset": 21.0}, "opset 20 to 24"),
    ({"input_names": ["a", "b"]}, "input_names needs 1"), ({"input_names": [""]}, "input_names needs 1"),
    ({"input_names": "x"}, "input_names needs 1"), ({"input_names": [1]}, "input_names needs 1"),
    ({"dynamic_axes": {"x": [9]}}, r"must be axes, \[0\].* for x, f32\[2\], got \[9\]"),
    ({"dynamic_axes": {"x": ["a"]}}, "must be axes"), ({"dynamic_axes": {"x": 0}}, "must be axes"),
    ({"dynamic_axes": {"x": {0: 5}}}, "must name a length by an identifier; for x, got 5"),
    ({"output_names": []}, "output_names needs 1"),
    ({"dynamic_axes": {"y": [0]}}, "dynamic_axes names y, but the inputs are x"),
])  # fmt: skip
def test_options_that_do_not_fit_are_refused(options, words, path):
    with pytest.raises(ValueError, match=words):
        mg.onnx.export(lambda x: x + 1, f4(2), path, **options)


def test_a_result_that_is_no_tensor_is_refused(path):
    for f, said in ((lambda x: (x, 3), "returns 3"), (lambda x: (), "returns none"), (lambda x: {}, "returns none")):
        with pytest.raises(GraphError, match=said):
            mg.onnx.export(f, f4(2), path)


def test_what_the_checker_refuses_is_refused_with_the_line(path):
    def f(x):
        return mg.nn.functional.max_pool2d(x, 2)

    with pytest.raises(GraphError, match=rf"MaxPool \(.*:{f.__code__.co_firstlineno + 1}, in f\).*tensor\(int64\)"):
        mg.onnx.export(f, mg.ones(1, 1, 4, 4).astype(int), path)


def test_a_result_of_another_dtype_is_refused(path):
    """As the mean of integers was not, which came out as one."""
    with pytest.raises(GraphError, match=r"Round.* returns float16, but bool"):
        mg.onnx.export(lambda x: x.apply(ops.Round(0)), mg.tensor([True, False]), path)


OF_INTEGERS = [lambda x: x.mean(), lambda x: (x > 0).mean(), lambda x: x.astype("u1").mean(0, keepdims=True),
               lambda x: (x > 0).astype("i1").argmax(0), lambda x: x.double().median(),
               mg.isnan, mg.isinf, mg.isfinite, mg.floor, mg.ceil, mg.relu, mg.sigmoid, lambda x: mg.fmax(x, 1),
               lambda x: mg.where(x > 1, x > 2, x < 0), lambda x: mg.where(x > 1, x.astype("i1"), x.astype("i1") + 1),
               lambda x: f4(4).scatter_reduce(0, x.clamp(0, 3), f4(5), "mean", include_self=False)]  # fmt: skip


@pytest.mark.parametrize("f", OF_INTEGERS)
def test_functions_of_integers_and_choices_among_booleans(f, path):
    check_export(f, mg.tensor([-2, 0, 1, 2, 3]), path)


def test_a_step_at_infinity_is_a_step(path):
    x, v = mg.tensor(np.array([np.inf, -np.inf, 0, -0.0, np.nan, 2], "f4")), mg.tensor(np.full(6, 0.5, "f4"))
    check_export(mg.heaviside, (x, v), path)


def test_of_equal_places_the_last_is_written(path):
    def f(x, v, i):
        x = x.clone()
        x[i] = v
        return x

    check_export(f, (f4(3, 2), f4(4, 2, seed=1), mg.tensor([0, 2, 0, -1])), path)


def test_a_place_outside_is_an_error_there_too(path):
    mg.onnx.export(lambda x, i: x[i, i], (f4(3, 4), mg.tensor([0, 1])), path)

    with pytest.raises(Exception, match=r"(?i)out of bounds|invalid ind|index"):
        run(path, f4(3, 4), mg.tensor([0, 3]))
