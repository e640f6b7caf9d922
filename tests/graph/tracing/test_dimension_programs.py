"""One graph for every length: it gives what eager gives, refuses what eager refuses, or is refused when it is built.

Each program is traced once (as a function, compiled, and in a Session) and fed tensors of all lengths in turn. Eager is
the referee. That a graph is not built is an answer; a number that eager has not is none.
"""

import linecache
import math
import os
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.engine.base.errors import MinigradError
from tests.support.table import table

pytestmark = pytest.mark.share(4)

F = mg.functional
LONG = bool(os.environ.get("MINIGRAD_LONG"))  # all lengths, in all ways, and 500 programs made up: 3 minutes
LENGTHS = (3, 0, 1, 2, 4, 9, 20) if LONG else (3, 0, 1, 9)


def programs(arguments, text):
    """A function for each expression of a text, between two bars, with the expression for its name."""
    made = []
    for row in filter(None, map(str.strip, text.replace("\n", "|").split("|"))):
        source, scope = f"def f({arguments}):\n    return {row}\n", {"mg": mg, "F": F, "np": np, "math": math}
        linecache.cache[row] = len(source), None, source.splitlines(keepends=True), row  # AutoGraph reads it
        exec(compile(source, row, "exec"), scope)
        scope["f"].__name__ = row
        made.append(scope["f"])
    return made


# f(x), x of shape (n,): what W3 and W21 of the list of wrong numbers named, and more of their kind.
VECTORS = programs(
    "x",
    """
x.sum() * (1 - 1.0 / x.shape[0]) | x.sum() * (2.0 / x.shape[0]) ** 0.5 | x.sum() * (1.0 / x.shape[0]) ** 2
x.sum() * (0.5 * x.shape[0] + 1) | x * 2 if 1.0 * x.shape[0] == 4.0 else x | x * 2 if x.shape[0] == 4.0 else x
x * 2 if 4.0 == x.shape[0] else x | x * 2 if 1.0 / x.shape[0] < 0.3 else x | x * 2 if 1.0 / x.shape[0] == 0.25 else x
x * 2 if x.shape[0] in {4, 9} else x | x * {4: 2.0}.get(x.shape[0], 3.0) | x * 2 if x.shape[0] else x - 1
x * 2 if not x.shape[0] else x - 1 | x * 2 if x.shape == (4,) else x | x * 2 if np.int64(4) == x.shape[0] else x
x * 2 if x.size > 3 else x | x * 2 if x.numel() > 3 else x | x * 2 if x.nbytes > 24 else x
x * 2 if len(x.shape) == 1 else x | x * round(0.1 * x.shape[0]) | x * int(0.5 * x.shape[0])
x[: int(0.5 * x.shape[0])] | x[: x.shape[0] // 2] | x[x.shape[0] // 2 :] | x[: x.shape[0] - 1] * 2
x[: x.shape[0] - 4] | x[: x.shape[0] + 4] | x[x.shape[0] - 2 :] | x[: -x.shape[0]] | x * math.sqrt(2.0 / x.shape[0])
x * math.sqrt(x.shape[0]) | x * x.shape[0] ** 0.5 | x * x.shape[0] ** -1 | x * x.shape[0] ** -0.5
x * math.gcd(x.shape[0], 4) | x * math.isqrt(x.shape[0]) | x * math.log(x.shape[0] + 1)
x * math.floor(x.shape[0] / 2) | x * math.ceil(x.shape[0]) | x * math.factorial(x.shape[0])
x * math.prod([x.shape[0], 2]) | x * math.comb(x.shape[0], 2) | x * math.fsum([x.shape[0], 1.0])
x * math.hypot(x.shape[0], 1.0) | x * math.exp(-x.shape[0]) | x * math.copysign(1.0, x.shape[0] - 2)
x * math.fmod(x.shape[0], 3) | x * math.inf if math.isclose(x.shape[0], 4) else x | x * np.sqrt(x.shape[0])
x * np.log1p(x.shape[0]) | x * float(np.arange(x.shape[0]).sum()) | x * np.float64(x.shape[0])
x * np.asarray(x.shape).sum() | x * np.maximum(x.shape[0], 3) | x + mg.tensor(np.zeros(x.shape[0]))
x + mg.tensor(np.zeros(x.shape)) | x * sum(1 for _ in range(x.shape[0])) | x * len([0] * x.shape[0])
x * len("a" * x.shape[0]) | x * len(list(range(x.shape[0]))) | x * [1.0, 2.0, 3.0, 4.0][x.shape[0]]
x * max(x.shape[0], 3) | x * min(3, x.shape[0]) | x * sorted([x.shape[0], 3])[0] | x * abs(x.shape[0] - 3)
x * (x.shape[0] % 2) | x * (x.shape[0] & 1) | x * (x.shape[0] >> 1) | x * (10 // (x.shape[0] + 1))
x * (10 // x.shape[0]) | x.sum() * (x.shape[0] // x.shape[0]) | x.sum() * (x.shape[0] / x.shape[0])
x.sum() * (2 / x.shape[0]) | x.sum() * divmod(x.shape[0], 3)[1] | x * bool(x.shape[0] > 2) | x * float(x.shape[0])
x * int(x.shape[0]) | x * hash(x.shape[0]) | x.sum() * mg.tensor(1.0 / x.shape[0])
x.sum() * mg.tensor(0.5 * x.shape[0]) | x.sum() + mg.tensor(x.shape[0]) | x.sum() + mg.tensor([x.shape[0], 2.0]).sum()
mg.full((x.shape[0],), x.shape[0]) | mg.full((x.shape[0],), 1.0 / (x.shape[0] + 1)) * x | mg.full_like(x, x.shape[0])
x.astype("int64") * (x.shape[0] / 1) | x.astype("float32") * (1.0 / (x.shape[0] + 1)) | mg.zeros(x.shape[0]) + x
mg.zeros(x.shape[0] + 1)[1:] + x | mg.zeros(x.shape[0] - 3) | mg.arange(x.shape[0]) | mg.arange(x.shape[0] - 3)
mg.arange(0, x.shape[0], 2) | mg.arange(x.shape[0], 0, -1) | mg.arange(1.0, x.shape[0])
mg.linspace(0, 1, x.shape[0]) | mg.eye(x.shape[0]) | mg.eye(x.shape[0], 3) * 2 | mg.eye(x[:3].shape[0]) @ x[:3]
mg.ones_like(x[:9]) | mg.ones_like(x)[:4] | mg.ones_like(x[1:]).sum() | x[:3].shape[0] * x
x[:9].sum() / x[:9].shape[0] | x[:9].mean() + x[-3:].sum() / x[-3:].shape[0] | x[:9][:4] * x[:4].shape[0]
x[1:][1:].shape[0] + x[2:] | x[1:] - x[:-1] | x[1:].sum() * x[1:].shape[0] | x[1:].sum() / x[1:].shape[0]
x[2:5].sum() * x[2:5].shape[0] | x[-2:-1] * x[-2:-1].shape[0] | x[-4:3] * x[-4:3].shape[0] | x[::2] * x[::2].shape[0]
x[::-1] * x[::-1].shape[0] | x[3::-1] * x[3::-1].shape[0] | x[0] + x[-1] | x[2] * 2 | x[:9].reshape(9)
x[:4].reshape(2, 2) | x[:3].expand(2, -1) | x[:3].expand(3) | x.expand(5) | x.reshape(-1, 2)
x.reshape(-1, x.shape[0]) | x.reshape(x.shape[0], -1) | x.reshape(x.shape[0] // 2, 2) | x.reshape(1, -1).reshape(-1)
x.squeeze() | x.squeeze(0) | x.unsqueeze(0).squeeze(0) | x.repeat(2) * x.repeat(2).shape[0] | x.repeat(x.shape[0])
x.flip(0) + x.roll(1) | x.topk(3).values | x.topk(x.shape[0]).values | x.kthvalue(2).values | x.narrow(0, 0, 3)
x.narrow(0, 1, 2) | x.narrow(0, -2, 2) | x.narrow(0, 0, x.shape[0]) | x.narrow(0, 1, x.shape[0] - 1) | x.median()
x.median(0).values | x.quantile(0.5) | x.split(2)[0] | x.split([1, x.shape[0] - 1])[1] | x.chunk(2)[0]
x.tensor_split(2)[0] | mg.stack(list(x.unbind(0))) | x.unfold(0, 2, 1) | x.diff() | x.diff() + x[1:]
mg.block_diag(x[:3].reshape(1, -1), x[:2].reshape(1, -1)) | mg.cat([x[:3], x[:2]])
mg.cat([x, x[:2]]) * mg.cat([x, x[:2]]).shape[0] | mg.cat([x[1:], x[:1]]) + x | mg.stack([x[:2], x[:2]]) | x.diag()
x.diag()[:2, :2].diagonal() | x.var() | x.std() | x.mean() | x.max() | x.argmax() | x.softmax(0) | x.cumsum(0)[-1:]
x.prod() | x.norm() | x.cov() | mg.outer(x, x).trace() | x @ x | F.pad(x, (1, 1)) | F.one_hot(x.argsort(), 20).sum(0)
F.normalize(x, dim=0) | F.dropout(x, 1 - 1 / (x.shape[0] + 1), False) | mg.triu(mg.ones(x.shape[0], x.shape[0])) @ x
mg.tril_indices(x.shape[0], x.shape[0]) | x.clamp(max=x.shape[0] / 4) | mg.where(x > 0, x, x.shape[0])
x * mg.arange(9)[: x.shape[0]] | (mg.arange(9)[: x.shape[0]]).sum() / x.shape[0]
mg.arange(9)[x.shape[0] :].sum() + mg.arange(9)[x.shape[0] :].shape[0] | x.index_select(0, mg.tensor([0, 1]))
x.take(mg.tensor([-1])) | x.masked_fill(mg.arange(x.shape[0]) > 1, 0.0) | x.index_set(slice(0, 2), 5.0)
x.index_set(slice(1, None), x[:-1]) | x * (x.shape[0] - 5) ** 0.5 | x * 2 ** (x.shape[0] - 2)
x[x.shape[0] - 3 : x.shape[0] - 1] | x[1 : x.shape[0] - 1] - x[:-2] | mg.zeros(x.shape[0], x.shape[0] - 1)
mg.ones(3)[-x.shape[0] :].sum() * x | mg.searchsorted(x.sort().values, 0.5) | mg.meshgrid(x, x[:2], indexing="ij")[1]
mg.cartesian_prod(x[:2], x[:3]) | mg.func.grad(lambda v: (v[:2] ** 2).sum())(x)
mg.func.grad(lambda v: v[1:].mean() * v.shape[0])(x) | mg.func.grad(lambda v: v.mean())(x)
mg.func.grad(lambda v: v.var() + v.std())(x) | mg.func.grad(lambda v: mg.cat([v[:2], v, v[2:]]).square().sum())(x)
mg.func.grad(lambda v: (v[:3].expand(2, -1) ** 2).sum())(x)
mg.func.grad(lambda v: v.topk(2).values.square().sum())(x) | mg.func.grad(lambda v: v.prod() + v.max() + v.norm())(x)
mg.func.grad(lambda v: v.cumsum(0).logsumexp(0))(x)
mg.func.grad(lambda v: v[::2].square().sum() / v[::2].shape[0])(x)
mg.func.grad(lambda v: v.narrow(0, 1, 2).square().sum())(x)
""",
)

# f(x), x of shape (n, 3)
MATRICES = programs(
    "x",
    """
x.reshape(x.shape[0], -1) | x.reshape(-1, x.shape[0]) | x.reshape(-1) | x.reshape(x.numel() // x.shape[0], x.shape[0])
x.flatten() | x.squeeze() | x.T @ x / x.shape[0] | x.sum(0) / x.shape[0] | x[:2] / x[:2].shape[0]
x[0] if x.shape[0] == 1 else x[0] * 2 | x[:, : x.shape[0]] | x[: x.shape[1]] * 2 | x @ mg.ones(3, x.shape[0])
x.diagonal() * x.diagonal().shape[0] | x.trace() | x.var(0) | x.mean(0) + x.max(0).values | x.mean(1)
F.layer_norm(x, (3,)) | F.batch_norm(x, None, None, training=True) | F.instance_norm(x.reshape(1, 3, -1))
F.group_norm(x, 3) | F.normalize(x, 2.0) | F.softmax(x, 0) | F.cross_entropy(x, mg.zeros(x.shape[0], dtype="int64"))
F.mse_loss(x, mg.zeros_like(x)) | F.mse_loss(x, mg.zeros_like(x), reduction="sum") / x.shape[0]
F.kl_div(x, x.softmax(1), reduction="batchmean") | F.avg_pool1d(x.T.unsqueeze(0), 2)
F.max_pool1d(x.T.unsqueeze(0), 2) | F.conv1d(x.T.unsqueeze(0), mg.ones(1, 3, 2))
F.conv1d(x.T.unsqueeze(0), mg.ones(1, 3, 2), stride=2) | F.adaptive_avg_pool1d(x.T.unsqueeze(0), 2)
F.cosine_similarity(x, x[:1]) | mg.cdist(x, x) | mg.cat([x, x], 1).shape[0] * x | mg.cat([x, mg.zeros(0)])
mg.block_diag(x, x[:1]) | mg.kron(x, mg.eye(2)) | mg.einsum("ij,ij->i", x, x) | mg.einsum("ij,kj->ik", x, x[:2])
x.expand(4, -1, -1) | x.expand(3, 3) | x.cov() | mg.vstack([x, x[:1]]) | x.rot90().T | x.tril() + x.triu(1)
x.gather(0, mg.zeros(1, 3, dtype="int64")) | x[mg.tensor([0, 0])] | x.sort(0).values[:2] | x.unflatten(0, (-1, 2))
x.unflatten(1, (3, 1)) | x.argmax(0) | x.amax(0) | x - x[:1] | x[:1] * x[-1:]
F.max_pool2d(x.reshape(1, 1, -1, 3), 2) | F.max_pool2d(x.reshape(1, 1, -1, 3), 2, ceil_mode=True)
F.avg_pool2d(x.reshape(1, 1, -1, 3), (1, 3)) | F.adaptive_avg_pool2d(x.reshape(1, 1, -1, 3), 1)
F.adaptive_avg_pool2d(x.reshape(1, 1, -1, 3), (2, 2)) | F.conv_transpose1d(x.T.reshape(1, 3, -1), mg.ones(3, 1, 2))
F.cross_entropy(x, mg.zeros(x.shape[0], dtype="int64"), reduction="sum") / x.shape[0]
F.scaled_dot_product_attention(x, x, x, is_causal=True) | F.pad(x, (0, 0, 1, 1))
mg.lax.scan(lambda c, v: (c + v, c), mg.zeros(3), x)[1]
mg.func.grad(lambda v: (v.relu() @ mg.ones(3, 2)).relu().mean())(x)
mg.func.grad(lambda v: (v - v[:1]).square().sum())(x)
mg.func.grad(lambda v: F.nll_loss(v.log_softmax(1), mg.zeros(v.shape[0], dtype="int64")))(x)
mg.func.grad(lambda v: F.conv1d(v.T.reshape(1, 3, -1), mg.ones(2, 3, 2), stride=2).square().sum())(x)
mg.func.grad(lambda v: F.adaptive_avg_pool1d(v.T.reshape(1, 3, -1), 2).square().sum())(x)
mg.func.grad(lambda v: F.scaled_dot_product_attention(v, v, v, is_causal=True).sum())(x)
mg.func.grad(lambda v: v.scatter_add(0, mg.zeros(v.shape[0], 3, dtype="int64"), v * v).square().sum())(x)
mg.func.vmap(lambda v: v.sum() / x.shape[0])(x)
mg.func.grad(lambda v: F.cross_entropy(v, mg.zeros(v.shape[0], dtype="int64")))(x)
mg.func.grad(lambda v: F.layer_norm(v, (3,)).square().mean())(x)
mg.func.grad(lambda v: F.batch_norm(v, None, None, training=True).square().mean())(x)
mg.func.grad(lambda v: (v @ v.T).diagonal().sum() / v.shape[0])(x)
mg.func.grad(lambda v: mg.einsum("ij,kj->ik", v, v[:2]).square().mean())(x)
""",
)

# f(x, y), x of shape (n,) and y of shape (m,)
PAIRS = programs(
    "x, y",
    """
mg.cat([x[y.shape[0] :], y]) | mg.cat([x, y]) * (x.shape[0] + y.shape[0]) | mg.cat([x, y])[x.shape[0] :] + y
mg.cat([x, y])[: x.shape[0]] * 2 | x[: y.shape[0]] | x[: y.shape[0]].sum() / x[: y.shape[0]].shape[0]
x[: y.shape[0]] * y | x[y.shape[0] :] | x[-y.shape[0] :] | x[: -y.shape[0]] | x * (x.shape[0] - y.shape[0])
x * (1.0 / (x.shape[0] * y.shape[0])) | x * (x.shape[0] / y.shape[0]) | x * 2 if x.shape[0] > y.shape[0] else x
x * 2 if x.shape == y.shape else x | x * max(x.shape[0], y.shape[0]) | x + y | mg.outer(x, y).sum(1)
mg.outer(x, y).diagonal() | mg.outer(x, y).reshape(-1) * (y.shape[0] * x.shape[0])
mg.outer(x, y).reshape(y.shape[0], x.shape[0]) | mg.outer(x, y).reshape(-1, y.shape[0])
mg.eye(x.shape[0], y.shape[0]) @ y | x.expand(y.shape[0], x.shape[0]) | x[:3].expand(y.shape[0], -1)
x.topk(y.shape[0]).values | x.narrow(0, 0, y.shape[0]) | x.narrow(0, y.shape[0], 1)
mg.arange(y.shape[0], x.shape[0]) | mg.cat([x[:2], y[:3]]) * mg.cat([x[:2], y[:3]]).shape[0]
mg.searchsorted(x.sort().values, y) | mg.func.grad(lambda v: (mg.cat([v, y, v]) ** 2).mean())(x)
mg.func.grad(lambda v: (mg.outer(v, y) ** 2).mean())(x)
mg.func.grad(lambda v: mg.cat([v[y.shape[0] :], y]).square().sum())(x)
(lambda v: mg.full((2,), 2.0)[: v.shape[0]] + v)(x[x.shape[0] : y.shape[0]])
mg.func.grad(lambda v: v.cumsum(0).logsumexp(0))(x) * y.shape[0]
""",
)

# f(x), x of shape (n, m)
GRIDS = programs(
    "x",
    """
x.reshape(-1) * (x.shape[0] * x.shape[1]) | x.reshape(x.shape[1], x.shape[0]).T - x | x.T.reshape(x.shape)
x[1:, :-1] - x[:-1, 1:] | x.diagonal() * x.diagonal().shape[0]
(x - x.mean(0)) / x.shape[1] + x.mean(1, keepdims=True) | x @ x.T / x.shape[1] | mg.einsum("ij,ik->jk", x, x[:, :2])
mg.cat([x, x[:1]], 0).reshape(-1, x.shape[1]) | mg.stack([x, x * 2]).reshape(2 * x.shape[0], -1)
F.layer_norm(x, (x.shape[1],)) | mg.func.grad(lambda v: (v @ v.T).square().mean())(x)
mg.func.grad(lambda v: (v[1:] * v[:-1]).sum() / v.size)(x)
mg.func.grad(lambda v: (v.softmax(1).mean(0) * v[-1]).sum())(x)
mg.func.grad(lambda v: mg.cat([v, v.flip(1)], 1)[:, v.shape[1] - 1 :].square().mean())(x)
mg.func.grad(lambda v: mg.func.grad(lambda u: (u**3).mean())(v).diagonal().sum())(x)
""",
)


def outcome(run, *args):
    """What a run gives, or the error with which it is refused."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy's, on the median of nothing
            return run(*args)
    except Exception as e:  # whatever Python, NumPy or minigrad says
        return e


def array(y):
    return y.numpy() if hasattr(y, "numpy") else np.asarray(y)


def as_function(f, specs, jit):
    """f traced once for all lengths, or the error with which that is refused."""
    traced = mg.function(f, input_signature=specs, jit_compile=jit, autograph=not made_up(f))
    built = outcome(traced.trace_for, *(mg.ones([3 if isinstance(n, str) else n for n in s.shape]) for s in specs))
    return built if isinstance(built, Exception) else traced


def made_up(f):
    return f.__code__.co_filename == "<made up>"


def as_session(f, specs):
    """The same as a Session's graph."""
    with mg.Graph().as_default() as graph:
        xs = [mg.placeholder("float64", s.shape) for s in specs]
        y = outcome(f, *xs)
    return y if isinstance(y, Exception) else lambda *args: mg.Session(graph).run(y, dict(zip(xs, args)))


def compare(f, shapes, session=True, compiled=True):
    """Each way against eager, for lengths in turn. Gives the ways that were refused when they were built."""
    specs = [mg.TensorSpec(shape, "float64") for shape in shapes]
    ways = {"traced": as_function(f, specs, False)}
    if session:
        ways["session"] = as_session(f, specs)
    if compiled or LONG:
        ways["compiled"] = as_function(f, specs, True)
    rng = np.random.default_rng(0)
    names = dict.fromkeys(n for shape in shapes for n in shape if isinstance(n, str))
    for step, n in enumerate(LENGTHS):
        names.update(zip(names, (n, LENGTHS[(3 * step + 1) % len(LENGTHS)])))
        xs = [mg.tensor(rng.normal(size=[names.get(m, m) for m in shape])) for shape in shapes]
        wanted = outcome(f, *xs)
        for way, run in ways.items():
            if isinstance(run, Exception):
                assert isinstance(run, MinigradError) or made_up(f), (way, repr(run))
                continue
            got = outcome(run, *(xs if way != "session" else [x.numpy() for x in xs]))
            where = f"{way} with lengths {[*names.values()]}: {got!r} for {wanted!r}"
            if isinstance(wanted, Exception):
                assert isinstance(got, Exception), where
            elif isinstance(got, Exception):
                assert "was taken to be" in str(got), where  # taken for inside, as in x[:m], and it is not
            else:
                assert array(got).dtype == array(wanted).dtype, where
                np.testing.assert_allclose(array(got), array(wanted), rtol=1e-12, atol=1e-12, err_msg=where)
    return [way for way, run in ways.items() if isinstance(run, Exception)]


def loop_to_a_length(x):
    y = x.sum() * 0
    for i in range(x.shape[0]):
        y = y * 2 + i * x[i]
    for i in range(0, x.shape[0] - 1, 2):
        y = y + x[i + 1]
    return y


def loop_over_a_part(x):
    y = x.sum() * 0
    for i, v in enumerate(x[1:]):
        y = y * 2 + i * v
    for v in x[: x.shape[0] // 2]:
        y = y - v
    return y


def loop_while_shorter(x):
    n = mg.tensor(0)
    while n < x.shape[0]:
        n = n + 2
    return n * x


def branch_on_a_tensor(x):
    y = x * 0.5 * x.shape[0]
    if x.sum() > x.shape[0] - 3:
        y = y + 1 / (1 + x.shape[0])
    return y


def branch_on_a_length(x):
    if x.shape[0] > 2 and x.sum() > 0:
        return x * 2
    return x


def rows_in_a_list(x):
    return mg.stack([row * 2 for row in x])


def length_in_a_comprehension(x):
    return x * sum([i * i for i in range(x.shape[0])])


LOOPS = [
    *(loop_to_a_length, loop_over_a_part, loop_while_shorter, branch_on_a_tensor),
    *(branch_on_a_length, rows_in_a_list, length_in_a_comprehension),  # which are refused
]


@pytest.mark.parametrize("f", LOOPS)
def test_python_code_that_autograph_converts(f):
    assert bool(compare(f, [("n",)], session=False)) == (f not in LOOPS[:4])


def test_what_is_no_decision_by_a_length_is_built():
    """That most programs are refused would be no less right by the other tests."""
    some = VECTORS[::8]
    refused = [f for f in some if isinstance(as_function(f, [mg.TensorSpec(("n",), "float64")], False), Exception)]
    assert len(refused) < len(some) / 2


@table("f", VECTORS, groups=8)
def test_one_graph_of_a_vector(f):
    compare(f, [("n",)], compiled=False)


@table("f", MATRICES)
def test_one_graph_of_a_matrix(f):
    compare(f, [("n", 3)], compiled=False)


@table("f", PAIRS)
def test_one_graph_of_two_lengths(f):
    compare(f, [("n",), ("m",)])


@table("f", GRIDS)
def test_one_graph_of_a_matrix_of_two_lengths(f):
    compare(f, [("n", "m")], compiled=False)


@table("f", [*VECTORS[::8], *PAIRS[::2]])
def test_with_reduce_retracing_every_length_is_right(f):
    """A graph that took x[:m] for m long served an x that is shorter, and failed where another trace would do."""
    traced = mg.function(f, reduce_retracing=True)
    for n, m in ((3, 2), (4, 4), (0, 1), (1, 0), (2, 9)):
        xs = [mg.arange(k, dtype="float64").sin() for k in (n, m)][: f.__code__.co_argcount]
        wanted, got = outcome(f, *xs), outcome(traced, *xs)
        assert isinstance(got, Exception) == isinstance(wanted, Exception), (n, m, got, wanted)
        if not isinstance(wanted, Exception):
            np.testing.assert_allclose(array(got), array(wanted), rtol=1e-12, atol=1e-12)


# -- programs that are made up -------------------------------------------------------------------------

BOUNDS = st.sampled_from(["", "", "0", "1", "2", "3", "5", "-1", "-2", "-4", "m", "n", "n // 2", "n - 1", "m + 1"])


def formulas(numbers, signs):
    numbers = st.sampled_from([*numbers, "v.shape[0]", "x.shape[0]", "y.numel()", "v[:3].shape[0]", "x[1:].shape[0]"])
    return st.recursive(numbers, lambda n: st.builds("({} {} {})".format, n, st.sampled_from(signs), n), max_leaves=3)


WHOLE = formulas(["2", "3"], ["+", "-", "*", "//", "%"])
NUMBERS = formulas(["2", "0.5"], ["+", "-", "*", "/", "//", "%", "**"])
STEPS = st.one_of(
    st.builds("v[{}:{}]".format, BOUNDS, BOUNDS),
    st.builds("v[{}:{}:{}]".format, BOUNDS, BOUNDS, st.sampled_from(["1", "2", "3", "-1", "-2"])),
    st.builds("v * {}".format, NUMBERS), st.builds("mg.full(({},), 2.0)[: v.shape[0]] + v".format, WHOLE),
    st.builds("mg.arange({}) + v.sum()".format, WHOLE),
    st.builds("v.narrow(0, {}, {})".format, st.integers(-2, 2), st.integers(0, 3)),
    st.builds("v.topk({}).values".format, st.integers(0, 3)),
    st.builds("v.repeat({})".format, st.sampled_from(["2", "m"])),
    st.builds("F.pad(v, ({}, {}))".format, st.integers(0, 2), st.integers(0, 2)),
    st.builds("v.roll({})".format, st.integers(-2, 2)),
    st.sampled_from([
        "v[1:] - v[:-1]", "mg.cat([v, x])", "mg.cat([x[:2], v, y])", "mg.cat([v, y])[v.shape[0] :]", "v + x",
        "v.reshape(-1, 2).sum(1)", "v.reshape(2, -1).sum(0)", "v.reshape(v.shape[0], -1).sum(1)", "v - v[:1]",
        "v.expand(2, -1).sum(0)", "v.unsqueeze(0).squeeze()", "v.cumsum(0)", "v.flip(0)", "mg.ones_like(v) + v",
        "mg.arange(v.shape[0]) * v", "mg.outer(v, x).diagonal()", "mg.outer(v, y).mean(1)", "v.sum() + x",
        "v.sort().values", "mg.eye(v.shape[0]) @ v", "v.softmax(0)", "x[: v.shape[0]] + v", "v[v.shape[0] - 1]",
        "mg.func.grad(lambda u: (u[:2] ** 2).sum() + u.mean())(v)", "v.mean() * x", "v * 2 if v.shape[0] > 2 else v",
    ]),
)  # fmt: skip


@settings(max_examples=500 if LONG else 25)
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_made_up_programs(steps):
    lines = [f"    v = {step}" for step in steps]
    text = "\n".join(["def f(x, y):", "    v, n, m = x, x.shape[0], y.shape[0]", *lines, "    return v"])
    scope = {"mg": mg, "F": F}
    exec(compile(text, "<made up>", "exec"), scope)
    compare(scope["f"], [("n",), ("m",)], session=LONG, compiled=False)
