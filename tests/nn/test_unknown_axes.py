"""Every layer and function with each axis unknown gives the eager results at all lengths, or is refused.

The calls that are refused when the graph is built are listed in the table "Unknown lengths" of docs/differences.md,
which is read here; a row that is no longer true fails. Eager mode is the oracle, for values and gradients.
"""

import os
import re
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.engine.base.errors import GraphError, MinigradError
from tests.support.root import ROOT
from tests.support.table import table
from tests.support.unknown_axes import FUNCTIONS, LATER, LAYERS, SIZES

F = mg.functional
LENGTHS = (3, 7, 2, 1, 0, 8) if os.environ.get("NIGHTLY") else (1, 8, 0)
DIFFERENCES = (ROOT / "docs/differences.md").read_text("utf-8")
TABLE = re.findall(
    r"^\| (.+?) \| (.+?) \|", DIFFERENCES.partition("## Unknown lengths")[2].partition("\n## ")[0], re.M
)[1:]
REFUSED = [(entry, re.findall("`(.)`", letters)) for calls, letters in TABLE for entry in re.findall("`(.+?)`", calls)]


class Row:
    """A row of the table: a call, and its arguments."""

    def __init__(self, text):
        *made, self.call, arguments = text.split(" | ")
        self.names, self.shapes, self.kinds = [], [], []
        for argument in arguments.split(", "):
            head, *axes = argument.split()
            name, _, kind = head.partition(":")
            self.names.append(name)
            self.kinds.append(kind)
            self.shapes.append(tuple(int(a) if a.isdigit() else a for a in axes))
        if "conv" in text and "#" not in text and (n := re.search(r"(\d)d\(", text)):  # 3 3 3 is for three axes
            self.shapes[1] = self.shapes[1][: 2 + int(n[1])]
        self.letters = sorted({a for shape in self.shapes for a in shape if isinstance(a, str)})
        mg.manual_seed(0)
        scope = {"F": F, "nn": nn, "mg": mg, "np": np}
        scope["m"] = eval(made[0], scope) if made else None
        self.f = eval(f"lambda {', '.join(self.names)}: {self.call}", scope)

    def dtype(self, i):
        kind = self.kinds[i]
        return "bool" if kind == "b" else "int64" if kind.isdigit() else "float64"

    def specs(self, unknown):
        shapes = [tuple(a if a in unknown else SIZES.get(a, a) for a in shape) for shape in self.shapes]
        return [mg.TensorSpec(shape, self.dtype(i)) for i, shape in enumerate(shapes)]

    def arguments(self, lengths):
        rng = np.random.default_rng(1)
        sizes = SIZES | lengths
        return [draw(rng, kind, [sizes.get(a, a) for a in shape]) for kind, shape in zip(self.kinds, self.shapes)]

    def with_gradients(self, *xs):
        """The result, and the gradients of the sum of its squares towards the arguments that are floats."""
        y = self.f(*xs)
        floats = [i for i in range(len(xs)) if self.dtype(i) == "float64"]
        if not floats or y.dtype.kind != "f":
            return [y]

        loss = mg.func.grad(lambda *xs: (self.f(*xs) ** 2).sum(), argnums=tuple(floats))
        return [y, *loss(*xs)]


def draw(rng, kind, shape):
    x = rng.normal(size=shape)
    if kind.isdigit():
        x = rng.integers(0, int(kind), shape)
    made = {"b": x > 0, "p": 1 / (1 + np.exp(-x)), "s": np.sign(x), "+": np.abs(x) + 0.1}
    return mg.tensor(made.get(kind, x))


def outcome(run, *args):
    mg.manual_seed(1)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [y.numpy() for y in run(*args)]
    except (MinigradError, ValueError, IndexError, TypeError, ZeroDivisionError) as e:
        return e


def unknowns(row):
    """Each axis alone, and all of them."""
    return [(a,) for a in row.letters] + [tuple(row.letters)] * (len(row.letters) > 1)


def refusal(row, unknown):
    """None if one trace is right at every length; else the error that the trace raises when it is built."""
    traced = mg.function(row.with_gradients, input_signature=row.specs(unknown), autograph=False)
    built = outcome(lambda *xs: traced.trace_for(*xs) and (), *row.arguments({}))
    if isinstance(built, Exception):
        assert isinstance(built, GraphError), f"{unknown}: {built!r}"
        return built
    for n in LENGTHS:
        lengths = {a: n + i % 2 * (n > 0) for i, a in enumerate(unknown)}
        xs = row.arguments(lengths)
        wanted, got = outcome(row.with_gradients, *xs), outcome(traced, *xs)
        where = f"{lengths}: {got!r} for {wanted!r}"
        assert isinstance(got, Exception) == isinstance(wanted, Exception), where
        if not isinstance(wanted, Exception):
            for a, b in zip(got, wanted, strict=True):
                assert a.dtype == b.dtype, where
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=where)
    return None


def is_about(entry, text):
    """Whether an entry of the table of differences, a name or `name(option)`, is about a row."""
    name, _, option = entry.removesuffix(")").partition("(")
    return bool(re.match(rf"(F|nn)\.{name.replace('Nd', '[123]d')}\(", text)) and option in text.partition("(")[2]


@pytest.mark.share(48)
@table("text", [*FUNCTIONS, *LAYERS], groups=48)
def test_one_graph_for_every_length(text):
    row = Row(text)
    listed = {letter for entry, letters in REFUSED if is_about(entry, text) for letter in letters}
    for unknown in unknowns(row):
        error = refusal(row, unknown)
        assert (error is not None) == bool(listed & {*unknown}), f"{unknown}: {error!r}, and the table has {listed}"


def test_every_layer_and_function_has_a_row():
    made = {name for text in [*FUNCTIONS, *LAYERS] for name in re.findall(r"(?:F|nn)\.(\w+)", text)}
    functions = {name for name, f in vars(F).items() if callable(f) and not name.startswith("_")}
    layers = {name for name, layer in vars(nn).items() if isinstance(layer, type)}
    assert functions | layers <= made | LATER


def test_every_entry_of_the_table_is_about_a_row():
    assert REFUSED
    for entry, letters in REFUSED:
        rows = [Row(text) for text in [*FUNCTIONS, *LAYERS] if is_about(entry, text)]
        assert any({*letters} & {*row.letters} for row in rows), entry


@table(
    "call",
    [text for text in FUNCTIONS if "_loss(x, t)" in text or text.startswith(("F.cross_entropy(x, t)", "F.kl_div"))],
)
def test_a_loss_whose_target_alone_has_a_known_length_is_refused_by_its_name(call):
    """The error named two lengths and no loss. With the length that eager mode has, no result may be another."""
    row = Row(call)
    if "N" not in row.shapes[1] or "ctc" in call:
        pytest.skip("the target has no axis N")
    specs = [*row.specs(("N",))[:1], *row.specs(())[1:]]
    with pytest.raises(GraphError, match=row.call.partition("(")[0].removeprefix("F.") + " needs a target of shape"):
        mg.function(row.f, input_signature=specs, autograph=False).trace_for(*row.arguments({}))
