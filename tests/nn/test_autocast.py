"""Autocast: the precision of each op, beside PyTorch's lists; gradients, graphs, caches, and what it costs when off."""

import asyncio
import inspect
import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad import functional as F
from minigrad import ops
from minigrad.engine.base.errors import DeviceError, DTypeError
from minigrad.engine.core.modes import current
from tests.examples import EXAMPLES
from tests.support.in_a_thread import completed
from tests.support.table import table

# The macros of ATen/autocast_mode.h, PyTorch 2.13, in the words of the op table.
LOWER = {
    *(ops.MatMul, ops.Affine, ops.Contract, ops.Attention, ops.AttentionWeights),
    *(ops.Convolution, ops.ConvolutionTranspose, ops.ConvolutionFilter, ops.Elman, ops.ElmanRelu, ops.Gru, ops.Lstm),
}
FLOAT32 = {
    *(ops.Acos, ops.Asin, ops.Cosh, ops.ErfInv, ops.Exp, ops.Expm1, ops.Log, ops.Log10, ops.Log2, ops.Log1p),
    *(ops.Rsqrt, ops.Sinh, ops.Tan, ops.Pow, ops.Power, ops.Softplus, ops.RMSNormalise, ops.Norm, ops.LogSumExp),
    *(ops.Prod, ops.Softmax, ops.LogSoftmax, ops.CumProd, ops.CumSum, ops.Sum),
    *(ops.CrossEntropy, ops.BinaryCrossEntropy),
}


def net(seed=0):
    mg.manual_seed(seed)
    return mg.nn.Sequential(mg.nn.Linear(6, 8), mg.nn.Tanh(), mg.nn.Linear(8, 3)).float()


def data():
    rng = np.random.default_rng(1)
    return mg.tensor(rng.standard_normal((10, 6)).astype("f4")), mg.tensor(np.arange(10) % 3)


# -- which precision -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_op_of_the_table_is_on_its_list():
    for op, *xs in itertools.chain(*EXAMPLES.values()):
        if not any(x.spec.is_float for x in xs):
            continue
        singles = [x.float() if x.spec.is_float else x for x in xs]
        plain = singles[0].apply(op, *singles[1:]).dtype
        with mg.autocast(dtype=mg.float16):
            from_single = singles[0].apply(op, *singles[1:]).dtype
        assert from_single == (mg.float16 if type(op) in LOWER and plain == np.float32 else plain), op
        if type(op).__module__.endswith("linalg"):
            continue
        halves = [x.astype(mg.bfloat16) if x.spec.is_float else x for x in xs]
        plain = halves[0].apply(op, *halves[1:]).dtype
        with mg.autocast(dtype=mg.float16):
            from_half = halves[0].apply(op, *halves[1:]).dtype
        listed = mg.float16 if type(op) in LOWER else np.float32 if type(op) in FLOAT32 else plain
        assert from_half == (listed if plain == mg.bfloat16 else plain), op


SAID = {
    "matmul": (lambda m, x, y: x @ y.T, "half", True),
    "linear": (lambda m, x, y: functions(m).linear(x, y), "half", True),
    "bmm": (lambda m, x, y: m.bmm(x[None], y.T[None]), "half", True),
    "einsum": (lambda m, x, y: m.einsum("ij,kj->ik", x, y), "half", True),
    "conv2d": (lambda m, x, y: functions(m).conv2d(x.reshape(1, 2, 6, 8), y.reshape(2, 2, 4, 6)), "half", True),
    "attention": (lambda m, x, y: functions(m).scaled_dot_product_attention(x[None], y[None], x[None]), "half", True),
    "addmm": (lambda m, x, y: m.addmm(x[:, :8], x, y.T), "half", True),
    "addmv": (lambda m, x, y: m.addmv(x[:, 0], x, y[0]), "half", False),  # PyTorch's CPU list is shorter
    "addr": (lambda m, x, y: m.addr(x[:, :8], x[:, 0], y[:, 0]), "half", False),
    "baddbmm": (lambda m, x, y: m.baddbmm(x[None, :, :8], x[None], y.T[None]), "half", True),
    "addbmm": (lambda m, x, y: m.addbmm(x[:, :8], x[None], y.T[None]), "half", True),
    "vecdot": (lambda m, x, y: m.linalg.vecdot(x, y), "half", True),
    "prelu": (lambda m, x, y: functions(m).prelu(x, y[0, :1]), "half", False),
    "relu": (lambda m, x, y: m.relu(x @ y.T), "half", True), "tanh": (lambda m, x, y: m.tanh(x @ y.T), "half", True),
    "gelu": (lambda m, x, y: functions(m).gelu(x @ y.T), "half", True),
    "add": (lambda m, x, y: (x @ y.T) + (y @ x.T), "half", True),
    "add float32": (lambda m, x, y: (x @ y.T) + x[:, :8], "float32", True),
    "cat": (lambda m, x, y: m.cat([x @ y.T, x], 1), "float32", True),
    "mean": (lambda m, x, y: (x @ y.T).mean(), "half", True), "max": (lambda m, x, y: (x @ y.T).amax(), "half", True),
    "max_pool": (lambda m, x, y: functions(m).max_pool2d((x @ y.T)[None], 2), "half", True),
    "embedding": (lambda m, x, y: functions(m).embedding(m.arange(3), x), "float32", True),
    "exp": (lambda m, x, y: m.exp(x @ y.T), "float32", False),
    "log1p": (lambda m, x, y: m.log1p(abs(x @ y.T)), "float32", False),
    "pow": (lambda m, x, y: (x @ y.T) ** 2, "float32", False),
    "rsqrt": (lambda m, x, y: m.rsqrt(abs(x @ y.T) + 1), "float32", False),
    "sum": (lambda m, x, y: (x @ y.T).sum(1), "float32", False),
    "cumsum": (lambda m, x, y: (x @ y.T).cumsum(1), "float32", False),
    "prod": (lambda m, x, y: (x @ y.T).prod(1), "float32", False),
    "norm": (lambda m, x, y: (x @ y.T).norm(), "float32", False),
    "largest": (lambda m, x, y: m.linalg.vector_norm(x @ y.T, float("inf")), "float32", False),
    "matrix_norm": (lambda m, x, y: m.linalg.matrix_norm(x @ y.T, 2), "float32", False),
    "nuclear norm": (lambda m, x, y: m.linalg.norm(x @ y.T, "nuc"), "float32", False),
    "reciprocal": (lambda m, x, y: m.reciprocal(x @ y.T), "float32", False),
    "dist": (lambda m, x, y: m.dist(x @ y.T, y @ x.T), "float32", False),
    "cdist": (lambda m, x, y: m.cdist(x @ y.T, y @ x.T), "float32", False),
    "pdist": (lambda m, x, y: functions(m).pdist(x @ y.T), "float32", False),
    "rms_norm": (lambda m, x, y: functions(m).rms_norm(x @ y.T, (8,)), "float32", False),
    "nearest": (lambda m, x, y: functions(m).interpolate((x @ y.T)[None], scale_factor=2), "float32", False),
    "bilinear":
        (lambda m, x, y: functions(m).interpolate((x @ y.T)[None, None], scale_factor=2, mode="bilinear"),
         *("float32", False)),
    "softmax": (lambda m, x, y: (x @ y.T).softmax(1), "float32", False),
    "log_softmax": (lambda m, x, y: (x @ y.T).log_softmax(1), "float32", False),
    "softplus": (lambda m, x, y: functions(m).softplus(x @ y.T), "float32", False),
    "layer_norm": (lambda m, x, y: functions(m).layer_norm(x @ y.T, (8,)), "float32", False),
    "group_norm": (lambda m, x, y: functions(m).group_norm((x @ y.T)[None], 2), "float32", False),
    "cross_entropy": (lambda m, x, y: functions(m).cross_entropy(x @ y.T, m.arange(8)), "float32", False),
    "nll_loss": (lambda m, x, y: functions(m).nll_loss(x @ y.T, m.arange(8)), "float32", False),
    "mse_loss": (lambda m, x, y: functions(m).mse_loss(x @ y.T, y @ x.T), "float32", True),
    "l1_loss": (lambda m, x, y: functions(m).l1_loss(x @ y.T, y @ x.T), "float32", False),
    "bce": (lambda m, x, y: functions(m).binary_cross_entropy_with_logits(x @ y.T, abs(y @ x.T)), *("float32", False)),
    "kl_div": (lambda m, x, y: functions(m).kl_div(x @ y.T, abs(y @ x.T)), "float32", False),
    "cosine": (lambda m, x, y: functions(m).cosine_similarity(x @ y.T, y @ x.T), "float32", False),
    "sum as told": (lambda m, x, y: (x @ y.T).sum(1, dtype=m.float64), "float64", True),
}  # fmt: skip


def functions(m):
    return F if m is mg else m.nn.functional


@table("f, wanted, on_the_cpu_too", SAID.values(), ids=SAID)
def test_the_dtype_is_pytorchs(f, wanted, on_the_cpu_too):
    x, y = np.random.default_rng(2).standard_normal((2, 8, 12)).astype("f4")
    with mg.autocast(dtype=mg.bfloat16):
        mine = f(mg, mg.tensor(x), mg.tensor(y))

    assert mine.dtype.name == wanted.replace("half", "bfloat16")
    if on_the_cpu_too:
        torch = pytest.importorskip("torch")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            theirs = f(torch, torch.tensor(x), torch.tensor(y))
        assert str(theirs.dtype) == f"torch.{mine.dtype}"
        np.testing.assert_allclose(mine.numpy().astype("f4"), theirs.float().numpy(), 2**-6, 2**-6)


WITHIN = {
    "cdist": mg.cdist, "dist": mg.dist, "pdist": lambda x, y: F.pdist(x), "rms_norm": lambda x, y: F.rms_norm(x, (12,)),
    "cosine_similarity": F.cosine_similarity, "reciprocal": lambda x, y: y.reciprocal(),
    "bicubic": lambda x, y: F.interpolate(x[None, None], scale_factor=2, mode="bicubic"), "mse_loss": F.mse_loss,
}  # fmt: skip


@table("f", WITHIN.values(), ids=WITHIN)
def test_what_is_listed_for_float32_is_computed_in_float32_throughout(f):
    """cdist subtracted in half precision, rms_norm took the ε of bfloat16: of numbers near 1/64 a sixth was left."""
    x, y = (mg.tensor(a / 64).bfloat16() for a in np.random.default_rng(2).standard_normal((2, 8, 12)))

    wanted = f(x.float(), y.float())
    with mg.autocast():
        found = f(x, y)

    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_a_batch_norm_has_the_dtype_of_what_it_is_given():
    """Outside training it was that of the running statistics: a net was float32 from there on when it was evaluated."""
    x = mg.randn(6, 3, dtype=mg.bfloat16) * 100
    norm = mg.nn.BatchNorm1d(3).float()

    assert norm(x).dtype == mg.bfloat16
    assert norm.eval()(x).dtype == mg.bfloat16
    assert norm.running_mean.dtype == np.float32
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.1 * x.float().mean(0).numpy(), 1e-5)


def test_probabilities_are_refused_and_what_is_no_half():
    p = mg.tensor([0.5], dtype=mg.bfloat16)
    with mg.autocast(), pytest.raises(DTypeError, match="Use binary_cross_entropy_with_logits"):
        F.binary_cross_entropy(p, p)
    with pytest.raises(DTypeError, match="float16 or bfloat16, and got float32"):
        mg.autocast(dtype=mg.float32)
    with mg.autocast("mps", dtype=mg.float32, enabled=False):  # enabled=dtype != float32 is how one writes that
        assert (p @ p).dtype == mg.bfloat16


@pytest.mark.parametrize("given", [True, "mps", lambda x: x], ids=["True", "mps", "a function"])
def test_what_is_no_device_is_named(given):
    """With a dtype beside it, "mps" was taken for every device; without, or as @autocast, NumPy complained."""
    sentence = r"@autocast\(\), or autocast of a device or a dtype; got (True|'mps'|<func)"
    with pytest.raises(DTypeError, match=sentence):
        mg.autocast(given)
    with pytest.raises(DeviceError, match="expected a device, one of"):
        mg.autocast(given, mg.float16)


def test_integers_stay_and_float64_is_cast_as_well():
    n, x = mg.arange(9).reshape(3, 3), mg.eye(3)
    assert x.dtype == np.float64  # what Python's floats become here: see docs/differences.md

    with mg.autocast():
        assert (n @ n).dtype == np.int64
        assert (x @ x).dtype == mg.bfloat16
        assert x.exp().dtype == np.float64


# -- blocks --------------------------------------------------------------------------------------------


def test_blocks_nest_and_functions_are_blocks():
    x = mg.ones(2, 2).float()

    @mg.amp.autocast("cpu", mg.float16)
    def product(x):
        return x @ x

    assert product(x).dtype == mg.float16
    with mg.amp.autocast("cpu"):
        assert (x @ x).dtype == mg.bfloat16
        with mg.autocast(enabled=False):
            assert (x @ x).dtype == np.float32
            assert not mg.is_autocast_enabled()
        assert product(x).dtype == mg.float16
        assert (x @ x).dtype == mg.bfloat16
        with pytest.raises(ZeroDivisionError), mg.autocast(dtype=mg.float16):
            1 / 0  # noqa: B018
        assert (x @ x).dtype == mg.bfloat16
    assert (x @ x).dtype == np.float32
    assert current.mode.door is None
    with mg.autocast("simulated"):
        assert (x @ x).dtype == np.float32
        assert mg.is_autocast_enabled("simulated")
        assert not mg.is_autocast_enabled("cpu")
        assert (x.to("simulated") @ x.to("simulated")).dtype == mg.float16


def test_tasks_that_take_turns_have_a_block_each():
    """The block of the last to end stayed open for good, and in it products were of the other's dtype."""
    x = mg.ones(2, 2).float()

    async def product(dtype):
        with mg.autocast(dtype=dtype):
            await asyncio.sleep(0)
            y = x @ x
            await asyncio.sleep(0)
        return y.dtype

    @mg.autocast()
    async def decorated():
        await asyncio.sleep(0)
        return (x @ x).dtype

    async def together():
        return await asyncio.gather(product(mg.float16), product(mg.bfloat16), decorated())

    assert completed(together()) == [mg.float16, mg.bfloat16, mg.bfloat16]
    assert not mg.is_autocast_enabled()


def test_a_parameter_is_cast_once_in_a_block_and_anew_when_it_was_edited():
    class Counted:
        casts = 0

        def on_forward(self, op, y, xs):
            self.casts += isinstance(op, ops.Cast)

        def on_backward(self, node, gy, gxs):
            pass

    def casts(**options):
        w, x = mg.ones(2, 2).float().requires_grad_(), mg.ones(2, 2, dtype=mg.bfloat16)
        with mg.core.modes.watching(Counted()) as counted, mg.autocast(**options):
            for _ in range(3):
                y = x @ w
            assert y.tolist() == [[2, 2], [2, 2]]
            with mg.no_grad():
                w *= 3
                assert (x @ w).tolist() == [[6, 6], [6, 6]]
            y = x @ w
            assert y.tolist() == [[6, 6], [6, 6]]
        y.sum().backward()
        assert w.grad.dtype == np.float32
        assert w.grad.tolist() == [[2, 2], [2, 2]]
        return counted.casts

    assert casts() == 3  # one for three products, one unrecorded, one anew
    assert casts(cache_enabled=False) == 5


# -- gradients -----------------------------------------------------------------------------------------


def test_gradients_are_float32_and_pytorchs():
    torch = pytest.importorskip("torch")
    mine, (x, t) = net(), data()
    theirs = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
        q.data = torch.tensor(p.detach().numpy())

    with mg.autocast(dtype=mg.bfloat16):
        loss = F.cross_entropy(mine(x), t)
    loss.backward()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = theirs(torch.tensor(x.numpy()))
        wanted = torch.nn.functional.cross_entropy(scores.float(), torch.tensor(t.numpy()))
    wanted.backward()

    assert loss.item() == pytest.approx(wanted.item(), rel=2**-7)
    for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert p.dtype == p.grad.dtype == np.float32
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 2**-5, 2**-6 * float(abs(q.grad).max()))


def test_backward_inside_the_block_is_backward_outside():
    grads = []
    for inside in (True, False):
        model, (x, t) = net(), data()
        with mg.autocast():
            loss = F.cross_entropy(model(x), t)
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append([p.grad.numpy().tobytes() for p in model.parameters()])

    assert grads[0] == grads[1]


@pytest.mark.parametrize("wrap", [lambda f: f, mg.function], ids=["eager", "traced"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_itself_casts_nothing(wrap, create_graph):
    arrays = np.random.default_rng(4).standard_normal((2, 5, 5))
    x, w = (mg.tensor(a, dtype=mg.float32, requires_grad=True) for a in arrays)

    def gradient(x, w):
        with mg.autocast(enabled=False):
            y = (x @ w).tanh().sum()
        (g,) = mg.autograd.grad(y, w, create_graph=create_graph)
        return g

    wanted = gradient(x, w)
    with mg.autocast():
        g = wrap(gradient)(x, w)

    assert g.dtype == np.float32
    np.testing.assert_allclose(g.detach().numpy(), wanted.detach().numpy(), 1e-6)


def test_a_checkpoint_computes_again_what_it_computed():
    grads = []
    for again in (False, True):
        model, (x, t) = net(), data()
        with mg.autocast():
            x = x.requires_grad_()
            y = mg.utils.checkpoint.checkpoint(model, x) if again else model(x)
            loss = F.cross_entropy(y, t)
        loss.backward()
        grads.append([p.grad.numpy().tobytes() for p in model.parameters()])

    assert grads[0] == grads[1]


# -- graphs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"jit_compile": True}, {"jit_compile": "native"}], ids=str)
def test_a_graph_has_the_casts_of_the_block_it_was_called_in(how):
    model, (x, t) = net(), data()

    def loss(x):
        return F.cross_entropy(model(x), t)

    traced = mg.function(loss, **how)
    plain = traced(x).item()
    with mg.autocast():
        eager, y = loss(x), traced(x)
        traced(x)
    assert traced.trace_count == 2
    assert traced(x).item() == plain
    assert traced.trace_count == 2
    with mg.autocast(dtype=mg.float16):
        traced(x)
    assert traced.trace_count == 3

    assert y.item() == pytest.approx(eager.item(), rel=1e-6)
    assert y.item() != plain
    wanted, got = ([g.numpy() for g in mg.autograd.grad(z, [*model.parameters()])] for z in (eager, y))
    for a, b in zip(wanted, got, strict=True):
        assert a.dtype == b.dtype == np.float32
        np.testing.assert_allclose(a, b, 2**-6, 2**-7 * np.abs(a).max())


def test_a_step_in_a_graph_is_the_step():
    losses = []
    for wrap in (lambda f: f, mg.function):
        model, (x, t) = net(), data()
        sgd = mg.optim.SGD(model.parameters(), lr=0.5)

        def step(x, model=model, sgd=sgd, t=t):
            sgd.zero_grad()
            with mg.autocast():
                loss = F.cross_entropy(model(x), t)
            loss.backward()
            sgd.step()
            return loss

        step = wrap(step)
        losses.append([step(x).item() for _ in range(12)])

    assert losses[0] == losses[1]
    assert losses[0][-1] < 0.7 * losses[0][0]


def test_under_vmap_each_slice_is_cast():
    model, (x, _) = net(), data()

    with mg.autocast():
        mapped, whole = mg.vmap(model)(x), model(x)

    assert mapped.dtype == whole.dtype == mg.bfloat16
    np.testing.assert_allclose(mapped.detach().float().numpy(), whole.detach().float().numpy(), 2**-7)


MAPPED = {
    "vmap": lambda f, x: mg.vmap(f)(x), "grad of each slice": lambda f, x: mg.vmap(mg.func.grad(f))(x),
    "one after the other": lambda f, x: mg.vmap(f, chunk_size=1)(x), "jacrev": lambda f, x: mg.func.jacrev(f)(x),
    "jacfwd": lambda f, x: mg.func.jacfwd(f)(x), "hessian": lambda f, x: mg.func.hessian(f)(x[0]),
    "linearize": lambda f, x: mg.vmap(mg.func.linearize(f, x)[1])(mg.stack([x, x])),
    "jacobian": mg.autograd.functional.jacobian, "hessian of Fs": lambda f, x: mg.autograd.functional.hessian(f, x[0]),
    "hvp": lambda f, x: mg.autograd.functional.hvp(f, x, x)[1],
    "vhp": lambda f, x: mg.autograd.functional.vhp(f, x, x)[1],
    "jvp": lambda f, x: mg.autograd.functional.jvp(f, x, x)[1],
    "jvp of a graph": lambda f, x: mg.func.jvp(mg.function(f), (x,), (x,))[1],  # whose op is met with the block open
    "vjp": lambda f, x: mg.autograd.functional.vjp(f, x)[1],
}  # fmt: skip


@pytest.mark.parametrize("wrap", [lambda f: f, mg.function], ids=["eager", "traced"])
@pytest.mark.parametrize("transformed", MAPPED.values(), ids=MAPPED)
def test_a_block_inside_holds_under_vmap_and_in_jacobians(transformed, wrap):
    """What one slice had written down, casts and all, was run for all in the block around: inf, in half precision."""
    x, w = (mg.tensor(a * 1000).float() for a in np.random.default_rng(3).standard_normal((2, 4, 4)))

    @mg.autocast(enabled=False)
    def f(x):
        return ((x @ w) ** 2).sum()

    wanted = transformed(f, x)
    with mg.autocast(dtype=mg.float16):
        found = wrap(lambda x: transformed(f, x))(x)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), 1e-5)


def test_a_saved_function_computes_as_it_was_saved(tmp_path):
    """In a graph around it, it was written down with the casts of the block there; called eagerly, it was not."""
    model, (x, _) = net(), data()
    mg.save(tmp_path / "f.mg", mg.function(model), x)
    saved = mg.load(tmp_path / "f.mg")

    wanted = saved(x).tolist()
    with mg.autocast():
        assert saved(x).tolist() == wanted
        np.testing.assert_allclose(mg.function(lambda x: 1 * saved(x))(x).detach().numpy(), wanted, 1e-5)
        assert mg.vmap(saved)(x[None]).dtype == np.float32


def test_branches_and_loops_are_cast():
    @mg.function
    def f(x):
        if x.sum() > 0:
            y = x @ x
        else:
            y = x @ x * 2
        for _ in range(3):
            y = y @ x
        return y

    x = mg.eye(3).float()
    with mg.autocast():
        assert f(x).dtype == mg.bfloat16
        assert f(-x).tolist() == (mg.eye(3) * 2 * -1).tolist()


# -- off -----------------------------------------------------------------------------------------------


def test_off_it_is_no_work():
    """The door was there: who builds a graph stands in it. Off, nobody does."""
    assert current.mode.door is None
    assert "autocast" not in inspect.getsource(mg.Tensor.apply)
    with mg.autocast():
        assert current.mode.door is current.mode.autocast
    with mg.autocast(enabled=False):
        assert current.mode.door is None
