"""Every function and method that both libraries have, called as PyTorch documents it: by place and by name.

The calls are made up: PyTorch's signatures are read (signatures.py), and each argument is given small samples by its
name (samples.py), one optional argument after the other. What PyTorch accepts gives the same here, or is refused by an
error that says so. What differs on purpose stands in docs/differences.md, in the table of calls, which is read here.
"""

import inspect
import itertools
import os
import random
import re
from math import prod
from numbers import Number
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import MinigradError
from tests.support.table import table

from .oracle import torch
from .samples import BY_NAME, FILE, OF_FUNCTION, TENSORS
from .signatures import NEEDED, Argument, signatures, written

pytestmark = pytest.mark.usefixtures("doubles")
PLACES = {
    "mg.": (mg, torch), "F.": (mg.nn.functional, torch.nn.functional), "linalg.": (mg.linalg, torch.linalg),
    "special.": (mg.special, torch.special), "x.": (mg.Tensor, torch.Tensor),
}  # fmt: skip
# What PyTorch hears too, and what it says nowhere.
VARIANCES = ["input, unbiased", "input, dim, unbiased, keepdim=False"]
UNDOCUMENTED = {
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), VARIANCES),
    **{name: ["input"] for name in ("relu", "detach", "arccosh", "arctanh", "atanh", "matrix_exp")},
    "clamp_max": ["input, max"], "clamp_min": ["input, min"],
    "cov": ["input, *, correction=1, fweights=None, aweights=None"], "index_fill": ["input, dim, index, value"],
    "index_put": ["input, indices, values, accumulate=False"], "is_same_size": ["input, other"],
    "less": ["input, other"], "load": ["f"], "log_softmax": ["input, dim, *, dtype=None"],
    "masked_fill": ["input, mask, value"], "rsub": ["input, other, *, alpha=1"],
    "softmax": ["input, dim, *, dtype=None"],
}  # fmt: skip
RANDOM = re.compile(
    r"(rand|randn|randint|randperm|bernoulli|multinomial|normal|uniform|random|empty|new_empty|dropout\dd|rrelu"
    r"|.*dropout|exponential|geometric|log_normal|cauchy|gumbel_softmax)(_like)?_?$"
)
APART = """
register_hook register_post_accumulate_grad_hook manual_seed set_grad_enabled no_grad enable_grad inference_mode cond
while_loop vmap compile device backward retain_grad numpy item data_ptr cuda cpu to type apply_ map_ finfo iinfo
is_grad_enabled is_tensor requires_grad_ set_printoptions from_numpy result_type get_device split_with_sizes tensor
as_tensor new_tensor record_stream share_memory_ set_ resize_ storage solve get_rng_state set_rng_state initial_seed
is_inference_mode_enabled fractional_max_pool2d fractional_max_pool3d quantize_per_tensor quantize_per_channel
is_autocast_enabled set_num_threads get_num_threads
"""  # that are not about numbers, or wait for a function
NAMES = [
    place + name
    for place, (ours, theirs) in PLACES.items()
    for name in dir(ours)
    if callable(getattr(ours, name)) and callable(getattr(theirs, name, None)) and name not in APART.split()
    if not name.startswith("_") and not inspect.isclass(getattr(ours, name))
]
DIFFERENCES = (Path(__file__).parents[2] / "docs/differences.md").read_text("utf-8")
TABLE = re.findall(r"^\| `(.*?)` \|", DIFFERENCES.partition("\n## Calls, one by one\n")[2].partition("\n#")[0], re.M)
MORE = 2  # ways of giving what is needed


@pytest.fixture(scope="module", autouse=True)
def file(tmp_path_factory):
    """A file of PyTorch's, in the folder where the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("saved"))
        torch.save(torch.ones(2), FILE)
        yield


def both(name):
    place, name = name.split(".")
    return [getattr(library, name) for library in PLACES[place + "."]]


def forms(name):
    """The signatures of a function, and those of its other face: the method's, the function's."""
    place, short = name.split(".")
    theirs = both(name)[1]
    found = [written(text) for text in UNDOCUMENTED.get(short.removesuffix("_"), [])] + signatures(theirs, short)
    if place in ("mg", "x") and not any(found):
        home = torch if place == "x" else torch.Tensor
        twins = [getattr(home, word, None) for word in (short, short.removesuffix("_"))]
        twin = next(filter(None, (signatures(t, short.removesuffix("_")) for t in twins)), [()])
        found = twin if place == "x" else [(Argument("input"), *form) for form in twin]
    if place == "x":
        found = [form if form[:1] == (Argument("input"),) else (Argument("input"), *form) for form in found]
    return list(dict.fromkeys(form for form in found for form in with_needed_last(form)))


def with_needed_last(form):
    """`start=0, end` is two: one with both, and one without start."""
    last = max((i for i, a in enumerate(form) if a.default is NEEDED and not a.by_name), default=-1)
    before = form[: last + 1]
    if all(a.default is NEEDED for a in before):
        return [form]
    whole = tuple(Argument(a.name, NEEDED, a.by_name, a.many) for a in before)
    return [whole + form[last + 1 :], tuple(a for a in before if a.default is NEEDED) + form[last + 1 :]]


def samples(name, argument):
    special = OF_FUNCTION.get(name.removesuffix("_"), {})
    if argument.name in special:
        return special[argument.name]
    if argument.name == "input" and "A" in special:
        return special["A"]
    if argument.name in BY_NAME:
        return BY_NAME[argument.name]
    if argument.default is NEEDED:
        return TENSORS
    return {bool: [not argument.default], int: [1, 2], float: [0.5]}.get(type(argument.default), [])


def calls(name):
    """(args, kwargs), as many as PyTorch accepts."""
    theirs, short = both(name)[1], name.split(".")[1]
    for form in forms(name):
        needed = [a for a in form if a.default is NEEDED]
        optional = [a for a in form if a.default is not NEEDED]
        pools = [samples(short, a) for a in needed]
        rng, ways = random.Random(0), 0
        given = list(itertools.product(*pools)) if prod(map(len, pools)) < 500 else None
        for values in rng.sample(given, len(given)) if given else ([*map(rng.choice, pools)] for _ in range(500)):
            if ways == MORE:
                break
            tried = [call for call in variants(form, needed, optional, values, short) if accepted(theirs, *call)]
            ways += bool(tried)
            yield from tried


def accepted(function, args, kwargs):
    try:
        called(torch, function, args, kwargs)
    except Exception:
        return False
    return True


def variants(form, needed, optional, values, short):
    """What is needed alone, by place and by name; then with each optional argument, likewise."""
    args, kwargs = [], {}
    for argument, value in zip(needed, values):
        if argument.many:
            args.extend(value if isinstance(value, tuple | list) else [value])
        elif argument.by_name:
            kwargs[argument.name] = value
        else:
            args.append(value)
    yield args, kwargs
    if any(a.many for a in form):
        yield from ((args, kwargs | {a.name: value}) for a in optional if not a.many for value in samples(short, a))
        return
    words = {a.name: value for a, value in zip([a for a in needed if not a.by_name][1:], args[1:])}
    yield args[:1], words | kwargs
    yield [], {needed[0].name: args[0], **words, **kwargs} if args else kwargs
    before = []
    for argument in optional:
        pool = samples(short, argument)
        for value in pool:
            yield args, kwargs | {argument.name: value}
            if not argument.by_name:
                yield [*args, *before, value], kwargs
        if not argument.by_name:
            before.append(pool[0] if pool else argument.default)


def called(library, function, args, kwargs):
    return function(*of(library, args), **of(library, kwargs))


def of(library, value):
    """A sample, as a value of the library."""
    if isinstance(value, np.ndarray):
        return library.tensor(value.copy())
    if isinstance(value, tuple | list):
        return type(value)(of(library, v) for v in value)
    if isinstance(value, dict):
        return {word: of(library, v) for word, v in value.items()}
    return getattr(library, value) if value in ("float32", "int64", "bool") else value


def difference(ours, theirs, is_random, integral):
    """What is different between two results, in words; None if nothing is.

    integral    whether integers came: what floats they become is NumPy's affair, and of booleans they are short
    """
    if isinstance(theirs, tuple | list):
        if not isinstance(ours, tuple | list) or len(ours) != len(theirs):
            return f"{ours!r}, and {theirs!r} in PyTorch"
        return next(filter(None, (difference(*pair, is_random, integral) for pair in zip(ours, theirs))), None)
    if isinstance(theirs, torch.dtype):
        return None if str(theirs) == f"torch.{ours}" else f"{ours}, and {theirs} in PyTorch"
    if not isinstance(theirs, torch.Tensor):
        is_plain = isinstance(theirs, Number | str | None)
        return f"{ours!r}, and {theirs!r} in PyTorch" if is_plain and ours != theirs else None
    theirs = theirs.detach()
    is_known = theirs.dtype != torch.bfloat16  # to torch's numpy()
    y, t = ours.detach().numpy(), theirs.numpy() if is_known else theirs.float().numpy().astype("bfloat16")
    if is_random and y.shape == t.shape:
        return None
    if y.shape != t.shape or (y.dtype.kind if integral else y.dtype) != (t.dtype.kind if integral else t.dtype):
        return f"{y.dtype}{y.shape}, and {t.dtype}{t.shape} in PyTorch"
    rtol = {2: 2e-2, 4: 1e-4}.get(min(y.itemsize, t.itemsize), 1e-3 if integral else 1e-7)
    if np.allclose(y, t, rtol=rtol, atol=rtol / 10, equal_nan=True):
        return None
    return f"{y.ravel()[:4]}, and {t.ravel()[:4]} in PyTorch"


def judged(name, args, kwargs):
    """What is different about one call; None if nothing is, or if it is refused."""
    ours, theirs = both(name)
    given = [*args, *kwargs.values()]
    integral = any(isinstance(a, int) or getattr(a, "dtype", np.dtype(float)).kind in "iub" for a in given)
    expected = called(torch, theirs, args, kwargs)
    try:
        result = called(mg, ours, args, kwargs)
    except (MinigradError, TypeError, ValueError, NotImplementedError):
        return None
    return difference(result, expected, RANDOM.match(name.split(".")[1]), integral)


def shown(value):
    """A sample, short: f[3,4] for floats of that shape."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.kind}[{','.join(map(str, value.shape))}]"
    return f"({', '.join(map(shown, value))})" if isinstance(value, tuple | list) else repr(value)


@pytest.mark.filterwarnings("ignore")  # PyTorch's deprecations, and NumPy's words on ln of what is negative
@table("name", NAMES, groups=8)
def test_a_documented_call_means_the_same_or_is_refused(name):
    """`x.var(True)` was a variance along axis 1, and `sum(())` of no axis: nobody had called them so."""
    wrong, asked = {}, 0
    for args, kwargs in calls(name):
        asked += 1
        if said := judged(name, args, kwargs):
            words = [*map(shown, args), *(f"{word}={shown(value)}" for word, value in kwargs.items())]
            wrong[f"{name}({', '.join(words)})"] = said
    assert asked, "a signature that cannot be read, or samples that do not fit, say nothing without a word"
    if not any(row.startswith(f"{name}(") for row in TABLE):
        assert not wrong


ANYTHING = [True, False, 0, 1, -1, 2, 3, (), [], None, 0.5, 2.0, (0, 1), [1], (-1,), (1, 0), (2, 2), "sum", np.array(1)]
UNTOLD = "svd qr pow logit searchsorted eigh eigvalsh lstsq softmax log_softmax softmin avg_pool1d lp_pool1d".split()  # noqa: SIM905


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(int(os.environ.get("MINIGRAD_CALLS", "1"))))
def test_what_both_accept_is_the_same(seed):
    """A thousand calls of arguments that nobody would think of: `histc(2, 3, 3)` counted nothing.

    MINIGRAD_CALLS=50 makes fifty thousand. UNTOLD are functions whose argument, such as an unsorted row to search, is
    outside what PyTorch promises, or whose difference stands elsewhere in docs/differences.md.
    """
    chosen, wrong, asked = random.Random(seed), {}, 0
    told = {row.partition("(")[0].split(".")[1] for row in TABLE}
    names = [n for n in NAMES if not RANDOM.match(n.split(".")[1]) and n.split(".")[1] not in told.union(UNTOLD)]
    while asked < 1000:
        name, more = chosen.choice(names), chosen.choice([0, 1, 1, 1, 2, 2, 3])
        args = [chosen.choice(TENSORS), *(chosen.choice([*ANYTHING, *TENSORS[:2]]) for _ in range(more))]
        if accepted(both(name)[1], args, {}):
            asked += 1
            if said := judged(name, args, {}):
                wrong[f"{name}({', '.join(map(shown, args))})"] = said

    assert not wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TABLE)
def test_a_row_of_the_table_is_true(row):
    """What the table calls different is: a row of what has been mended goes."""
    results = []
    for library in (mg, torch):
        x, i = library.tensor([[1.0, -2.0], [3.0, 0.5]]), library.tensor([[3, 1], [2, 0]])
        t = library.tensor([[True, False], [True, True]])
        place = {prefix[:-1]: pair[library is torch] for prefix, pair in PLACES.items() if prefix != "x."}
        dtypes = {"int64": library.int64, "float32": library.float32}
        try:
            results.append(eval(row, {**place, **dtypes, "file": FILE, "x": x, "i": i, "t": t}))
        except (MinigradError, RuntimeError, IndexError, TypeError, ValueError) as error:
            results.append(type(error))
    ours, theirs = results
    refused = [isinstance(r, type) for r in results]
    assert refused == [True, False] or difference(ours, theirs, False, False)
