"""Half precision: stored in 16 bits, computed in float32, rounded once; eager, in graphs, in C, beside PyTorch."""

import copy
import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.dtypes import result_type
from minigrad.engine.base.errors import DTypeError
from minigrad.engine.core.interpret import interpret
from minigrad.engine.tensor.tensor import Tensor
from minigrad.graph.compiler import Program
from tests.examples import EXAMPLES
from tests.nn.test_autocast import functions
from tests.support.table import table

HALVES = {"bfloat16": mg.bfloat16, "float16": mg.float16}
half = pytest.mark.parametrize("dtype", HALVES.values(), ids=HALVES)
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow, where float16 ends


def as_float(x):
    return x.detach().numpy().astype("f4")


# -- a dtype like others -------------------------------------------------------------------------


def test_it_says_what_it_is():
    x = mg.tensor([1.5, 0.1], dtype=mg.bfloat16)

    assert repr(x) == "tensor([1.5000, 0.1001], dtype=bfloat16)"
    assert str(x.spec) == "bf16[2]"
    assert x.spec.is_float
    assert x.is_floating_point()
    assert x.is_signed()
    assert x.tolist() == [1.5, 0.10009765625]
    assert x[0].item() == 1.5
    assert f"{x[0]:.1f}" == "1.5"
    assert x.numpy().dtype == mg.bfloat16
    assert x.nbytes == 4
    assert mg.finfo(mg.bfloat16).eps == 2.0**-7
    assert float(mg.finfo(mg.bfloat16).max) == pytest.approx(3.3895e38, rel=1e-4)
    for y in (mg.ones(2).bfloat16(), mg.ones(2).to(mg.bfloat16), mg.ones(2).astype(mg.bfloat16)):
        assert y.dtype == mg.bfloat16
    assert mg.nn.Linear(2, 2).bfloat16().weight.dtype == mg.bfloat16


def test_dtypes_meet_as_in_pytorch():
    torch = pytest.importorskip("torch")
    kinds = ["bfloat16", "float16", "float32", "float64", "bool", "int8", "uint8"]
    for a, b in itertools.product(kinds, kinds):
        if {"bfloat16", "float16"} & {a, b}:
            wanted = str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")
            assert mg.promote_types(getattr(mg, a), getattr(mg, b)).name == wanted
            x, y = (mg.ones(2).astype(getattr(mg, kind)) for kind in (a, b))
            assert (x * y).dtype.name == (y * x).dtype.name == wanted
    assert mg.promote_types(mg.bfloat16, mg.int64) == mg.promote_types(mg.float16, mg.int64) == mg.float64  # NumPy's
    x = mg.ones(2, dtype=mg.bfloat16)
    assert {(x + 1).dtype, (2.5 * x).dtype, (x / 3).dtype, (x**2).dtype, (x * True).dtype} == {mg.bfloat16}
    assert result_type(mg.bfloat16, 1.5) == mg.bfloat16
    assert (x + np.float32(1)).dtype == mg.float32


def test_it_is_edited_drawn_copied_and_learned():
    x = mg.zeros(4, dtype=mg.bfloat16)
    x[1] = 257.0
    x += 1
    x[2:] *= 3
    assert x.tolist() == [1, 256, 3, 3]  # 257 lies between 256 and 258, and 257 again: both go to the even one

    for drawn in (mg.randn(500, dtype=mg.bfloat16), mg.rand(500, dtype=mg.bfloat16), mg.arange(500, dtype=mg.bfloat16)):
        assert drawn.dtype == mg.bfloat16
        assert drawn.numpy().dtype == mg.bfloat16
        assert len(set(drawn.tolist())) > 100

    net = mg.nn.Linear(3, 1).bfloat16()
    net.weight.data = mg.full((1, 3), 1.0, dtype=mg.bfloat16)
    adam = mg.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(30):
        adam.zero_grad()
        (net(mg.ones(2, 3, dtype=mg.bfloat16)) ** 2).mean().backward()
        adam.step()
    assert net.weight.grad.dtype == net.weight.dtype == mg.bfloat16
    assert (net(mg.ones(1, 3)) ** 2).item() < 0.5
    assert adam.state[net.weight]["exp_avg"].dtype == np.float32
    again = mg.nn.Linear(3, 1).bfloat16()
    again.load_state_dict(net.state_dict())
    assert again.weight.tolist() == net.weight.tolist() == copy.deepcopy(net).weight.tolist()


def test_where_it_is_not_computed_it_is_refused():
    with pytest.raises(DTypeError, match="bfloat16 is supported on the CPU only, and got simulated"):
        mg.ones(2, dtype=mg.bfloat16, device="simulated")
    with pytest.raises(DTypeError, match="bfloat16 is supported on the CPU only"):
        mg.ones(2, dtype=mg.bfloat16).to("simulated")
    with pytest.raises(DTypeError, match="Inverse needs float32 or float64, and got bf16"):
        mg.linalg.inv(mg.eye(2).bfloat16())


# -- the op table ----------------------------------------------------------------------------------

CASES = [(op, xs) for op, *xs in itertools.chain(*EXAMPLES.values()) if any(x.spec.is_float for x in xs)]
ALONE = [(op, xs) for op, xs in CASES if not type(op).__module__.endswith("linalg")]  # which refuse half precision


@quiet
@half
def test_every_op_computes_in_float32_and_rounds_once(dtype):
    for op, xs in ALONE:
        halves = [x.astype(dtype) if x.spec.is_float else x for x in xs]
        first, *others = [x.float() if x.spec.is_half else x for x in halves]
        wide = first.apply(op, *others)
        y = halves[0].apply(op, *halves[1:])
        (traced,) = Program(graph_of(op, halves))(*(x.value for x in halves))

        is_rounded = wide.dtype == np.float32 and not isinstance(op, mg.ops.Cast)
        wanted = wide.numpy().astype(dtype if is_rounded else wide.dtype)
        assert y.dtype == y.value.dtype == wanted.dtype, f"{op}: {y.spec}, {y.value.dtype}"
        assert bits(y.numpy()) == bits(wanted), f"{op} of {halves} is {y}, and {wanted} in float32"
        assert bits(traced) == bits(wanted), f"{op}: compiled {traced}, eager {y}"


def graph_of(op, xs):
    inputs = tuple(mg.core.node.Node(mg.ops.Input(f"x{i}"), (), x.spec) for i, x in enumerate(xs))
    return mg.core.graph.Graph(inputs, (mg.core.node.Node(op, inputs),))


def bits(x):
    return np.where(np.isnan(x.astype("f8")), np.nan, x.astype("f8")).tobytes()


@quiet
@half
def test_every_gradient_is_that_of_float32_rounded_once(dtype):
    seen = 0
    for op, xs in ALONE:
        halves = [x.astype(dtype) if x.spec.is_float else x for x in xs]
        y = halves[0].apply(op, *halves[1:])
        if not y.spec.is_half or op.is_view:
            continue
        gy = mg.ones(y.shape, dtype=dtype) * 0.75
        (first, *others), gy32 = [x.float() if x.spec.is_half else x for x in halves], gy.float()
        wanted = op.gradients(gy32, y.float(), first, *others)
        leaves = [Tensor(x.value, requires_grad=x.spec.is_float) for x in halves]
        z = leaves[0].apply(op, *leaves[1:])
        if z.requires_grad:
            z.backward(gy)
            for x, gx in zip(leaves, wanted, strict=True):
                if gx is not None and x.grad is not None:
                    seen += 1
                    assert x.grad.dtype == x.grad.value.dtype == x.dtype
                    # the compiled rule is simplified: another order of sums may round one bit otherwise
                    most = max(1e-6, float(np.nanmax(np.abs(gx.numpy()[np.isfinite(gx.numpy())]), initial=0)))
                    eps = float(mg.finfo(dtype).eps)
                    found, expected = as_float(x.grad), as_float(gx.astype(dtype))
                    np.testing.assert_allclose(found, expected, eps, eps * most, err_msg=str(op))
    assert seen > 150


# -- beside PyTorch ----------------------------------------------------------------------------------

EXACT = {
    "add": lambda m, x, y: x + y, "subtract": lambda m, x, y: x - y, "multiply": lambda m, x, y: x * y,
    "divide": lambda m, x, y: x / y, "number": lambda m, x, y: (x + 0.1) * 3 / 7,
    "sqrt": lambda m, x, y: m.sqrt(abs(x)), "neg": lambda m, x, y: -x, "maximum": lambda m, x, y: m.maximum(x, y),
    "where": lambda m, x, y: m.where(x > y, x, y * 2), "clamp": lambda m, x, y: m.clamp(x, -0.5, 0.7),
    "relu": lambda m, x, y: m.relu(x), "square": lambda m, x, y: x**2, "floor": lambda m, x, y: m.floor(x * 5),
    "compare": lambda m, x, y: (x <= y) | (x == x), "index": lambda m, x, y: x[1:, ::2],
    "gather": lambda m, x, y: x.T.reshape(-1)[3:9], "sort": lambda m, x, y: m.sort(x, -1)[0],
    "max": lambda m, x, y: m.amax(x, 1), "cat": lambda m, x, y: m.cat([x, y], 1),
    "to float16": lambda m, x, y: x.half() * y.half(), "beside float16": lambda m, x, y: x.half() + y,
}  # fmt: skip
CLOSE = {
    **{
        name: lambda m, x, y, name=name: getattr(m, name)(x)
        for name in ("exp", "tanh", "sigmoid", "sin", "erf", "expm1")
    },
    **{name: lambda m, x, y, name=name: getattr(m, name)(abs(x) + 0.1) for name in ("log", "log1p", "rsqrt", "lgamma")},
    "gelu": lambda m, x, y: functions(m).gelu(x), "silu": lambda m, x, y: functions(m).silu(x),
    "softplus": lambda m, x, y: functions(m).softplus(x), "power": lambda m, x, y: abs(x) ** y,
    "sum": lambda m, x, y: x.sum(1), "mean": lambda m, x, y: x.mean(), "var": lambda m, x, y: x.var(1),
    "prod": lambda m, x, y: x.prod(1), "norm": lambda m, x, y: x.norm(), "cumsum": lambda m, x, y: x.cumsum(1),
    "logsumexp": lambda m, x, y: x.logsumexp(1), "softmax": lambda m, x, y: x.softmax(1) * y,
    "log_softmax": lambda m, x, y: x.log_softmax(1), "matmul": lambda m, x, y: x @ y.T,
    "einsum": lambda m, x, y: m.einsum("ij,kj->ik", x, y), "linear": lambda m, x, y: functions(m).linear(x, y, y[:, 0]),
    "layer_norm": lambda m, x, y: functions(m).layer_norm(x, (x.shape[-1],)) * y,
    "conv": lambda m, x, y: functions(m).conv2d(x.reshape(1, 2, 6, 8), y.reshape(2, 2, 4, 6)),
    "avg_pool": lambda m, x, y: functions(m).avg_pool2d(x.reshape(1, 2, 6, 8), 2),
    "max_pool": lambda m, x, y: functions(m).max_pool2d(x.reshape(1, 2, 6, 8), 2),
    "attention": lambda m, x, y: functions(m).scaled_dot_product_attention(x[None], y[None], x[None]),
    "mse": lambda m, x, y: functions(m).mse_loss(x, y), "huber": lambda m, x, y: functions(m).smooth_l1_loss(x, y),
    "cross entropy": lambda m, x, y: functions(m).cross_entropy(x, m.arange(8) % 3),
}  # fmt: skip


def both(torch, f, dtype):
    """What f gives there and here, and both gradients."""
    x, y = np.random.default_rng(3).standard_normal((2, 8, 12)).astype("f4")
    results = []
    for m in (torch, mg):
        leaves = [m.tensor(a).to(getattr(m, dtype.name)).requires_grad_() for a in (x, y)]
        z = f(m, *leaves)
        if z.requires_grad:
            z.sum().backward()
        name = str(z.dtype).removeprefix("torch.")
        grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
        values = [(v.detach().float() if m is torch else v.detach().astype("f4")).numpy() for v in (z, *grads)]
        results.append((name, values))
    return results


@quiet
@half
@table("f", EXACT.values(), ids=EXACT)
def test_elementwise_it_is_pytorch_to_the_bit(f, dtype):
    (wanted, theirs), (name, mine) = both(pytest.importorskip("torch"), f, dtype)

    assert name == wanted
    assert mine[0].tobytes() == theirs[0].tobytes()


@quiet
@half
@table("f", {**EXACT, **CLOSE}.values(), ids={**EXACT, **CLOSE})
def test_values_and_gradients_are_pytorchs(f, dtype):
    (wanted, theirs), (name, mine) = both(pytest.importorskip("torch"), f, dtype)

    assert name == wanted
    assert len(theirs) == len(mine)
    eps = float(mg.finfo(dtype).eps)
    np.testing.assert_allclose(mine[0], theirs[0], eps, eps)  # one bit: another order, another exp
    for gx, hx in zip(mine[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(gx, hx, 4 * eps, 4 * eps * np.abs(hx).max())  # theirs may round on the way


@half
def test_sums_do_not_stop_where_the_format_does(dtype):
    ones = mg.ones(5000, dtype=dtype)

    assert ones.sum().item() == (ones @ ones).item() == 4992 if dtype == mg.bfloat16 else 5000
    bias = mg.zeros(1, dtype=dtype, requires_grad=True)
    (mg.ones(3000, 1, dtype=dtype) + bias).sum().backward()
    assert bias.grad.item() == (3008 if dtype == mg.bfloat16 else 3000)  # rounded once


# -- in graphs ----------------------------------------------------------------------------------------


@half
@pytest.mark.parametrize("how", [{}, {"jit_compile": True}, {"jit_compile": "native"}], ids=str)
def test_a_step_in_a_graph_is_the_step(dtype, how):
    x, w = (mg.tensor(a.astype("f4")).astype(dtype) for a in np.random.default_rng(0).standard_normal((2, 40, 40)))

    def loss(w):
        return ((x @ w).tanh().softmax(-1) * (x + 1).exp()).mean() + w.sum() / 100

    def gradient(w):
        w = w.detach().requires_grad_() if how == {} else w
        return mg.autograd.grad(loss(w), w)[0]

    w.requires_grad_()
    value, grad = loss(w), mg.autograd.grad(loss(w), w)[0]
    y = mg.function(loss, **how)(w)
    (g,) = mg.autograd.grad(y, w)

    eps = float(mg.finfo(dtype).eps)
    assert y.dtype == g.dtype == dtype
    if how == {}:
        assert y.item() == value.item()
        assert g.numpy().tobytes() == grad.numpy().tobytes()
    np.testing.assert_allclose(as_float(y), as_float(value), 2 * eps)
    np.testing.assert_allclose(as_float(g), as_float(grad), 4 * eps, eps * np.abs(as_float(grad)).max())


def test_the_interpreter_and_the_program_agree():
    x = mg.linspace(-3, 3, 1000, dtype=mg.bfloat16)
    f = mg.function(lambda x: (x.exp() * 3 + 1).log() - x)
    y = f(x)
    (graph,) = [trace.graph for trace in f.history]

    (walked,) = interpret(graph, x.value)
    assert walked.tobytes() == y.numpy().tobytes()
    assert np.array_equal(walked, ((x.exp() * 3 + 1).log() - x).numpy())


EMPTY = {
    "matmul": lambda x: x @ mg.ones((3, 2), dtype=x.dtype), "of no inner axis": lambda x: x.T @ x,
    **{name: lambda x, name=name: getattr(x, name)() for name in ("exp", "erf", "lgamma", "gelu", "sigmoid", "cos")},
    **{name: lambda x, name=name: getattr(x, name)(1) for name in ("softmax", "logsumexp", "cumsum", "sum", "var")},
    "sum of nothing": lambda x: x.sum(0),
    "norms": lambda x: mg.nn.functional.layer_norm(x, (3,)) * mg.nn.functional.rms_norm(x, (3,)),
    "attention": lambda x: mg.nn.functional.scaled_dot_product_attention(*[x.reshape(0, 1, 3)] * 3),
}  # fmt: skip


@half
@table("f", EMPTY.values(), ids=EMPTY)
def test_no_elements_are_of_the_dtype_of_some(dtype, f):
    """An op on no elements has 0 FLOPs and was taken for a move: it gave float32, or an error from einsum."""
    for way in (lambda f: f, mg.function, mg.jit):
        x = mg.zeros((0, 3), dtype=dtype, requires_grad=True)
        y = way(f)(x)
        (g,) = mg.grad(y.sum(), [x])
        assert y.dtype == y.detach().numpy().dtype == g.numpy().dtype == dtype
