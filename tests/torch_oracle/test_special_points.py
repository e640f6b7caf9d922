"""At special points, no number, infinities, zeros, denormals, overflow and ties, values and slopes are PyTorch's.

Where they are others, a row of the table "At special points" of docs/differences.md says at which points: an expression
of x, and of y where there are two; of one row x where rows are reduced. A difference elsewhere fails, and so does a
row without any. Traced code gives the bits of eager, and compiled code the same infinities and no numbers.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

from .oracle import torch

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # that is what special points are

inf, nan = np.inf, np.nan
SMALL = {"float64": (5e-324, 1e-310, 1e-160), "float32": (1e-45, 1e-40, 1e-24)}  # two denormals; a square that is 0
LARGE = {"float64": (1e155, 1e300), "float32": (1e20, 1e38)}  # whose squares are infinite
ALMOST = {"float64": {"rtol": 1e-11, "atol": 1e-15}, "float32": {"rtol": 3e-5, "atol": 2e-6}}


def points(dtype):
    signed = (inf, 0.0, *SMALL[dtype], *LARGE[dtype], 0.5, 1.0, 2.0, 3.0, 20.0, 21.0, 100.0)
    return np.resize(np.array([nan, *signed, *(-x for x in signed)], dtype), 32)  # PyTorch answers in eights


def of(names, where=lambda lib: lib, **options):
    """A case for each name of a library's function."""
    return {name: (lambda *xs, lib, F, name=name: getattr(where(lib), name)(*xs, **options)) for name in names.split()}


def functional(names, **options):
    return of(names, lambda lib: lib.nn.functional, **options)


def along(names, **options):
    return {name: (lambda x, lib, F, name=name: getattr(x, name)(dim=-1, **options)) for name in names.split()}


def first(names):
    return {name: (lambda x, lib, F, name=name: getattr(x, name)(dim=-1)[0]) for name in names.split()}


ONE = {
    **of("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal neg abs sign nan_to_num"),
    **of("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid logit"),
    **of("floor ceil trunc round frac isnan isinf isfinite"), **of("ndtr entr", lambda lib: lib.special),
    **functional("relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign logsigmoid"),
    **functional("hardtanh hardswish hardsigmoid tanhshrink softshrink hardshrink"),
    "threshold": lambda x, lib, F: F.threshold(x, 0.5, 7.0),
    "gelu tanh": lambda x, lib, F: F.gelu(x, approximate="tanh"), "clamp": lambda x, lib, F: x.clamp(-1, 2),
    "clamp min": lambda x, lib, F: x.clamp(min=0),
    **{f"x ** {p}": lambda x, lib, F, p=p: x**p for p in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, -1.5)},
    **{f"{p} ** x": lambda x, lib, F, p=p: p**x for p in (0, 2, 0.5)},
}  # fmt: skip
TWO = {
    **of("add sub mul div pow maximum minimum atan2 hypot logaddexp xlogy fmod remainder"),
    "xlog1py": lambda x, y, lib, F: lib.special.xlog1py(x, y), "where": lambda x, y, lib, F: lib.where(x > y, x, y),
    "lerp": lambda x, y, lib, F: lib.lerp(x, y, 0.3), "lerp far": lambda x, y, lib, F: lib.lerp(x, y, 0.7),
    "clamp by a tensor": lambda x, y, lib, F: x.clamp(min=y),
    "clamp by a number and a tensor": lambda x, y, lib, F: x.clamp(max=y),
    "prelu": lambda x, y, lib, F: F.prelu(x, y[:1]), "eq": lambda x, y, lib, F: lib.eq(x, y),
    **functional("mse_loss l1_loss smooth_l1_loss huber_loss kl_div", reduction="none"),
    **functional("binary_cross_entropy_with_logits", reduction="none"),
    "kl_div of logarithms": lambda x, y, lib, F: F.kl_div(x, y, reduction="none", log_target=True),
    "binary_cross_entropy":
        lambda x, y, lib, F: F.binary_cross_entropy(*(p.clamp(0, 1).nan_to_num(0.3) for p in (x, y)), reduction="none"),
}  # fmt: skip


ROWS = {
    **along("sum mean prod amax amin cumsum cumprod logcumsumexp logsumexp var std"),
    **along("nansum nanmean diff softmax log_softmax argmax argmin all any"),
    **first("max min cummax cummin sort median"), "std of all": lambda x, lib, F: x.std(dim=-1, correction=0),
    **{f"norm {p}": lambda x, lib, F, p=p: x.norm(p, dim=-1) for p in (0, 1, 2, 3, inf, -inf, 0.5, -1, 1.5)},
    "normalize": lambda x, lib, F: F.normalize(x, dim=-1), "layer_norm": lambda x, lib, F: F.layer_norm(x, (3,)),
    "rms_norm": lambda x, lib, F: F.rms_norm(x, (3,)), "group_norm": lambda x, lib, F: F.group_norm(x[:, None], 1),
    "cosine_similarity": lambda x, lib, F: F.cosine_similarity(x, lib.flip(x, (1,)), -1),
    "pairwise_distance": lambda x, lib, F: F.pairwise_distance(x, lib.flip(x, (1,))),
    "quantile": lambda x, lib, F: lib.quantile(x, 0.3, dim=-1),
    "max_pool1d": lambda x, lib, F: F.max_pool1d(x[:, None], 2, 1),
    "avg_pool1d": lambda x, lib, F: F.avg_pool1d(x[:, None], 2, 1),
    "cross_entropy": lambda x, lib, F: F.cross_entropy(x, lib.zeros(len(x), dtype=lib.int64), reduction="none"),
    "glu": lambda x, lib, F: F.glu(lib.cat([x, x], 1)),
}  # fmt: skip


def rows(dtype):
    (least, denormal, small), (large, huge) = SMALL[dtype], LARGE[dtype]
    return np.array([
        [nan, 1, 2], [1, nan, 2], [1, 2, nan], [inf, 1, 2], [-inf, 1, 2], [1, inf, 2], [inf, inf, 1], [nan, inf, 1],
        [inf, -inf, 1], [inf] * 3, [-inf] * 3, [-inf, 0, 1], [-inf, -inf, 1], [0] * 3, [0, -0.0, 0], [0, 1, 2],
        [0, 0, 2], [1, 0, 3], [1, 1, 1], [2, 2, 1], [large, large, 1], [large, -large, 3], [huge] * 3, [large, 0, 0],
        [small, 2 * small, 3 * small], [small] * 3, [denormal, 2 * denormal, 0], [least, 0, 0], [small, 1, 1],
        [80, -80, 0], [-80, -81, -82], [1, 2, 3], [-1, -2, 3], [0.1, 0.2, 0.7],
    ], dtype)  # fmt: skip


MASKS = ("relu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "threshold", "clamp", "clamp min", "floor", "ceil")
MASKS += ("trunc", "round", "frac", "sign", "elu", "x ** 0", "maximum", "minimum", "where", "prelu")


def documented():
    """Name → the expressions of the points where it differs, and whether it does so on every processor."""
    text = (Path(__file__).parents[2] / "docs/differences.md").read_text("utf-8")
    table = text.split("## At special points")[1].split("\n## ")[0]
    found = {}
    for line in re.findall("^[|] `.*", table, re.M):
        names, where, theirs, *_ = (cell.strip() for cell in line.replace("\\|", "¦").split("|")[1:])
        for name in re.findall("`([^`]+)`", names):
            found.setdefault(name, {})[where.strip("`").replace("¦", "|")] = "on some processors" not in theirs
    return found


def answers(lib, function, arrays, arriving):
    """The value, and the gradients where there are any."""
    xs = [lib.tensor(a.copy(), requires_grad=True) for a in arrays]
    y = function(*xs, lib=lib, F=lib.nn.functional)
    given = [y.detach().numpy()]
    if y.requires_grad:
        full = np.full(y.shape, arriving, given[0].dtype)
        y.backward(torch.tensor(full) if lib is torch else full)
        given += [np.zeros_like(a) if x.grad is None else x.grad.numpy() for a, x in zip(arrays, xs)]
    return given


def wrong(function, arrays, arriving):
    """Which points differ."""
    ours, theirs = (answers(lib, function, arrays, arriving) for lib in (mg, torch))
    bad = np.zeros(len(arrays[0]), bool)
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape
        close = np.isclose(a, b, **ALMOST[arrays[0].dtype.name], equal_nan=True)
        bad |= ~close.reshape(len(bad), -1).all(1)
    return bad


CASES = {
    **{name: (f, lambda dtype: [points(dtype)]) for name, f in ONE.items()},
    **{name: (f, lambda dtype: [g.ravel() for g in np.meshgrid(*[points(dtype)] * 2)]) for name, f in TWO.items()},
    **{name: (f, lambda dtype: [rows(dtype)]) for name, f in ROWS.items()},
}


@table("name", CASES, groups=8)
def test_values_and_slopes_are_pytorchs_or_the_table_says_where_they_are_not(name):
    """relu sent 0 · ∞ = NaN through dead units, and nothing at NaN; threshold, Maximum, elu and clamp lost NaN."""
    function, operands = CASES[name]
    everywhere = documented().get(name, {})
    used = dict.fromkeys(everywhere, False)
    for dtype in ("float64", "float32"):
        arrays = operands(dtype)
        for arriving in (1.0, inf) if name in MASKS else (1.0,):
            bad = wrong(function, arrays, arriving)
            scopes = [vars(np) | {"inf": inf} | dict(zip("xy", point)) for point in zip(*arrays)]
            for where in used:
                allowed = np.array([bool(np.any(eval(where, scope))) for scope in scopes])
                used[where] |= (bad & allowed).any()
                bad &= ~allowed
            at = [tuple(a[i].tolist() for a in arrays) for i in np.flatnonzero(bad)[:4]]
            assert not at, f"{name} of {dtype} differs at {bad.sum()} points, as {at}, where {arriving} arrives"
    assert all(used[where] or not everywhere[where] for where in used), (
        f"docs/differences.md says where {name} differs, and it does not: {used}"
    )


def test_every_name_in_the_table_is_tried():
    assert set(documented()) <= set(CASES)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("family", [ONE, TWO, ROWS], ids=["one", "two", "rows"])
def test_graphs_say_at_special_points_what_eager_says(family, dtype):
    """x · 0, x / x and the like are not simplified where x may be infinite: traced values to the bit."""
    arrays = CASES[next(iter(family))][1](dtype)
    if family is not ROWS:
        usual = np.all([(a == 0) | ~np.isinf(1 / a) for a in arrays], 0)  # a denormal's 1 / x depends on the order
        arrays = [a[usual] for a in arrays]

    def everything(*xs):
        ys = {name: f(*xs, lib=mg, F=mg.nn.functional) for name, f in family.items()}
        slopes = {name: mg.grad(y.sum(), xs, allow_unused=True) for name, y in ys.items() if y.requires_grad}
        return ys, {name: [g for g in gs if g is not None] for name, gs in slopes.items()}

    def told(run):
        xs = [mg.tensor(a, requires_grad=True) for a in arrays]
        ys, slopes = run(*xs)
        return {(name, i): z.detach().numpy() for name in ys for i, z in enumerate([ys[name], *slopes.get(name, [])])}

    runs = everything, mg.function(everything), mg.function(everything, jit_compile=True)
    eager, traced, compiled = map(told, runs)
    for key, y in eager.items():
        ulps = 4 * np.finfo(dtype).eps if key[1] else 0  # gradients of one operand are added up in another order
        np.testing.assert_allclose(traced[key], y, rtol=ulps, atol=0, err_msg=f"traced {key}")
        kept = ~(arrays[0] == inf).any(-1) if key[0] in ("softmax", "cross_entropy") else ...  # see the table of graphs
        for question in (np.isnan, np.isinf):
            np.testing.assert_array_equal(question(compiled[key])[kept], question(y)[kept], err_msg=f"compiled {key}")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int64"])
def test_floats_made_of_integers_are_those_of_the_same_numbers(dtype):
    """huber_loss, kl_div, lerp, quantile and others took differences in uint8, which wrap: 0 − 1 was 255."""
    x = np.array([0, 1, 2, 3, 7, 100, 120] if dtype != "bool" else [0, 1, 1, 0], dtype)
    x = np.concatenate([x, 0 - x[1:4]]) if dtype.startswith("i") else x
    pairs = [grid.ravel() for grid in np.meshgrid(x, x)]
    for family, arrays in ((ONE, [x]), (TWO, pairs), (ROWS, [np.array([x[:3], x[-3:]])])):
        for name, function in family.items():
            try:
                y = function(*map(mg.tensor, arrays), lib=mg, F=mg.nn.functional).numpy()
            except (mg.errors.DTypeError, ValueError, OverflowError, IndexError):
                continue  # refused
            if y.dtype.kind == "f":
                wanted = function(*(mg.tensor(a.astype(float)) for a in arrays), lib=mg, F=mg.nn.functional).numpy()
                wanted = wanted.astype(y.dtype)  # which may be too large for it
                rtol = 8 * np.finfo(y.dtype).eps
                np.testing.assert_allclose(y, wanted, rtol=rtol, atol=rtol, err_msg=f"{name} of {dtype}")
