"""A Python number that a loop or a branch over tensors carries is a Python number to the program, and no tensor.

Beside a tensor it takes the tensor's dtype, `is`, type() and isinstance() answer for it as for a number, and what only
a run could answer is refused. Eager mode is the oracle.
"""

import contextlib
import functools
import linecache
import logging
from itertools import count

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ConversionError, EditedError, MinigradError, NoValueError
from minigrad.engine.base.pytree import leaves
from tests.support.table import table

serial = count()
WAYS = {"traced": {}, "compiled": {"jit_compile": True}}
START = """
def f(x):
    n, m = 1.0, 1
    for v in x:
        n, m = n * 2, m + 1
    return {}
"""


def body(lines):
    """f(x), of lines that are separated by `;`, where `>` before one indents it once more."""
    lines = [line.strip() for line in lines.split(";")]
    return "def f(x):\n" + "\n".join(
        "    " * (1 + len(line) - len(line.lstrip(">"))) + line.lstrip(">") for line in lines
    )


class_name = functools.singledispatch(lambda x: "another ")
class_name.register(int, lambda x: "int ")
class_name.register(mg.Tensor, lambda x: "Tensor " if x.shape else "")


def written(source):
    """The function f of that source, which it keeps as one in a notebook cell does."""
    name = f"<numbers {next(serial)}>"
    names = {"mg": mg, "np": np, "suppress": contextlib.suppress, "class_name": class_name}
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)
    return names["f"]


def compare(f, *arrays, options=WAYS["traced"]):
    expected = leaves(f(*map(mg.tensor, arrays)))
    for y, found in zip(expected, leaves(mg.function(f, **options)(*map(mg.tensor, arrays))), strict=True):
        if isinstance(y, mg.Tensor):
            assert found.dtype == y.dtype
        np.testing.assert_allclose(np.asarray(found), np.asarray(y), 1e-3)  # float16 has 11 bits


BESIDE = """
x*n  n*x  x*m  m-x  x/m  m/x  x//n  n%x  x**m  m**x  -n+x  (1-n)*x  2/m*x  x[0]*n  x.sum()+m  abs(-m)*x  x>n  n<=x  x==m
mg.where(x>2,x,n)  mg.where(x>2,n,x)  mg.maximum(x,n)  mg.fmax(x,n)  x.clamp(max=n)  x.clamp(m,n)  x.masked_fill(x>2,n)
x.half()*n  x.half()/m  x.double()*m  x.int()*m  x.int()+n  x.bool()*m  (x>1)&(m>2)  x.int()<<m  mg.atan2(x,x*n)
np.float32(2)*m*x  x.add(n)  x.lerp(x*2,n)  mg.sub(n,x)  x.index_fill(0,mg.tensor([0]),n)  m*[x][0]
mg.pow(n,x)  mg.float_power(x,n)  mg.copysign(x,n)  x.cumsum(0)/m  x.eq(n)  x.fmin(m)  x/max(m,1)  n*m/3*x
""".split()  # noqa: SIM905


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@table("text", BESIDE)
def test_a_number_takes_the_dtype_of_the_tensor_beside_it(text, dtype):
    """A counter after a loop, times a float32, was a float64; in a loop that was refused."""
    compare(written(START.format(text)), np.array([1.5, 2, 3], dtype))


LOOPS = {
    "a counter inside a loop": "for i in range(n):\n        x = x + i\n    return x",
    "a row's number": "for i, v in enumerate(x):\n        x = x + i * v\n    return x",
    "a number read from a tensor": "return x + int(x[0]), x * float(x[1]), x * bool(x[2] > 0)",
    "another loop's": "k = 0\n    for v in x:\n        k += 1\n    for v in x:\n        x = x * k\n    return x",
    "an edit": "k = 1\n    for v in x:\n        k += 1\n    y = x * 1\n    y += k\n    y[0] = k\n    return y",
    "a share": "k = t = 0\n    for v in x:\n        k += int(v > 1)\n        t += 1\n    return x * (k / t)",
    "a sum of float32": "t = 0.0\n    for v in x:\n        t = t + v\n    return t / len(x), t * 0.5",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@table("text", LOOPS.values())
def test_a_number_in_a_loop_keeps_the_dtype_of_a_tensor(text, way):
    compare(written(f"def f(x, n):\n    {text}"), np.array([1, 2, 3.5], "f4"), np.array(3), options=way)


def test_a_number_read_from_a_tensor_has_no_gradient():
    """float(x[0]) was x[0] itself: it had a gradient, and another float64 than float() gives."""
    f = written("def f(x):\n    k = float(x[0])\n    k += 1\n    return (x * k).sum()")
    for call in (f, mg.function(f)):
        x = mg.tensor(np.array([2, 3], "f4"), requires_grad=True)
        call(x).backward()
        assert x.grad.tolist() == [3, 3]


KINDS = {
    "is False": "flag is False", "is not True": "flag is not True", "is True, compared twice": "False is flag is False",
    "isinstance": "isinstance(flag, bool) and isinstance(k, (int, str)) and not isinstance(k, float | mg.Tensor)",
    "type": "type(k) is int and type(flag) == bool", "a number of another type": "k is not False",
    "None": "k is not None", "in a set": "k in {1, 3}", "in a dictionary": "k in {1: 0, 'a': 1} or k not in range(3)",
    "hasattr": "not hasattr(k, 'shape')", "getattr": "getattr(k, 'shape', 3) == 3 and getattr(x, 'shape', 3) != 3",
    "__class__": "k.__class__ is int and getattr(flag, '__class__') in (bool, str) and k.__class__(2.5) == 2",
    "map": "list(map(type, [k, flag, x])) == [int, bool, mg.Tensor]",
    "a tensor": "isinstance(x, int | mg.Tensor) and type(v) is mg.Tensor and x.__class__.__name__ == 'Tensor'",
    "singledispatch": "class_name(k) + class_name(flag) + class_name(x) == 'int int Tensor '",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@table("test", KINDS.values())
def test_is_type_and_isinstance_answer_for_a_number(test, way):
    """`holding is False` was False in a loop over tensors, where holding is one: the branch never ran."""
    lines = f"flag, k = False, 1\n    for v in x:\n        if {test}:\n            x = x * 3\n        if v > 1:\n"
    lines += "            flag = not flag\n        k = k + 1\n    return x"
    compare(written(f"def f(x):\n    {lines}"), np.array([1.0, 2, 0.5, 3]), options=way)


REFUSED = {  # what a run alone knows
    "k = 0; for v in x:; >if k is n:; >>x = x + 1; >k = k + 1": "write ==",
    "y = x; for v in x:; >if y is x:; >>x = x + 1; >y = x * 1": "`is` on two tensors",
    "a = x * 1; b = a if x.sum() > 0 else x * 2; x = x if b is a else x * 3": "`is` on two tensors",
    "d = False; for v in x:; >if d is not True:; >>x = x * 2; >d = v > 1": "first turn",
    "k = 0; for v in x:; >if isinstance(k, int):; >>x = x * 2; >k = k + v": "first turn",
    "f = False; for v in x:; >match f:; >>case False:; >>>x = x * 3; >f = True": "this `match`",
}


@table("text, error", REFUSED.items())
def test_an_identity_that_only_a_run_knows_is_refused(text, error):
    with pytest.raises(ConversionError, match=error):
        mg.function(written(body(f"n = 0; {text}; return x")))(mg.tensor([1.0, 2, 3]))


def test_tensors_that_no_branch_chose_are_compared_by_identity():
    f = written(body("y = x * 1; z = y; return x * (2 if y is z else 3) * (5 if y is x else 7)"))
    assert mg.function(f)(mg.tensor([1.0])).tolist() == f(mg.tensor([1.0])).tolist() == [14]


HANDLERS = {
    "a value": "try:; >k = x.sum().item(); except Exception:; >k = 0.0; return x * k",
    "an index": "try:; >k = [1, 2][x[0]]; except RuntimeError:; >k = 0; return x * k",
    "a branch": "try:; >y = x; >if x.sum() > 1:; >>y = x[0]; except ValueError:; >y = x * 0; return y",
    "suppress": "k = 0.0; with suppress(RuntimeError):; >k = x.sum().item(); return x * k",
}
IN_A_BRANCH = "try:; >return mg.cond(x.sum() > 9, lambda: {}[3], lambda: x); except KeyError:; >return -x"


@table("text", [*HANDLERS.values(), IN_A_BRANCH])
def test_a_handler_in_code_that_is_not_converted_is_refused_too(text):
    """Under vmap, jit and autograph=False the fallback was traced without a word."""
    f, x = written(body(text)), mg.tensor([1.0, 1])
    for call in (mg.function(f, autograph=False), mg.jit(f), lambda x: mg.func.vmap(f)(mg.stack([x, x]))):
        with pytest.raises(MinigradError, match=r"numbers \d+>:\d+: an `except`, or a `with`|has no value"):
            call(x)


def test_an_op_of_a_session_in_a_handler_of_an_error_of_its_graph_is_refused():
    f = written(body("try:; >return x * x.sum().item(); except Exception:; >return x * 2"))
    with mg.Graph().as_default():
        x = mg.placeholder("float64", (2,))
        with pytest.raises(ConversionError, match="an `except`, or a `with`, around this line catches NoValueError"):
            f(x)
        with pytest.raises(NoValueError):
            x.item()
        assert (x * 2).shape == (2,)


def test_a_handler_of_an_error_that_a_run_raises_too_or_of_a_failed_log_may_stay():
    f = written(body("log('%f', x.sum()); k = 0; try:; >k = {}[3]; except KeyError:; >k = 2; return x * k"))
    f.__globals__["log"] = logging.getLogger("a test of numbers").info
    for call in (mg.function(f, autograph=False), mg.jit(f)):
        assert call(mg.tensor([1.0])).tolist() == [2]


def test_a_handler_of_an_error_about_an_unknown_length_is_refused():
    f = written(body("k = 0; try:; >k = int(x.shape[0]); except Exception:; >k = 9; return x * k"))
    with pytest.raises(ConversionError, match="this `except` catches LengthError"):
        mg.function(f, input_signature=[mg.TensorSpec((None,))])(mg.tensor([1.0]))


@table("text", HANDLERS.values())
def test_a_handler_that_catches_an_error_of_the_trace_is_refused(text):
    """`try: k = x.item()` with a fallback was traced as the fallback, for all runs."""
    with pytest.raises(ConversionError, match="this `except` catches"):
        mg.function(written(body(text)))(mg.tensor([1.0, 1]))


def test_suppress_suppresses_what_python_raises():
    f = written("def f(x):\n    k = 1\n    with suppress(KeyError):\n        {}[3]\n        k = 2\n    return x * k")
    assert mg.function(f)(mg.tensor([1.0])).tolist() == [1]


ROWS = {
    "a row of a loop": "for r in y:; >r -= r.mean()",
    "a row of an argument": "for r in x:; >r *= 2; y = y + x",
    "its parts": "for i in range(n):; >r = y[i]; >v = r[1:]; >v += 1; >r *= 2; >y[i, 0] = v[0]",
    "twice": "k = int(n) - 1; a, b = y[k], y[k]; a += 1; b *= 2; y = y + a + b",
    "a row of a transpose": "for i in range(n):; >y.T[i].add_(1)",
    "a row of a row": "for r in y:; >for v in r:; >>v += 1",
    "beside a slice": "for i in range(n):; >y[i, 1:].add_(i); >y[None, -i - 1].mul_(3)",
    "an item": "for i in range(n):; >y[i] += 1; >y[i][2] = 7.0; >y[i, 1] *= 3",
    "in a branch": "k = int(n) - 1; r = y[k]; if r.sum() > 7:; >r *= 10",
    "the whole is edited": "k = int(n) - 1; r = y[k]; y *= 2; y = y + r",
    "the whole is edited in a loop": "k = int(n) - 1; r = y[k]; for i in range(n):; >y[i] *= 2; y = y + r",
    "rows change places": "for i in range(1):; >t = y[i]; >y[i] = y[i + n - 1]; >y[i + n - 1] = t",
    "of a tensor made here": "y = mg.zeros(2, 3); for i in range(n):; >for j in range(n):; >>y[i][j] = i + j * 2",
    "without a gradient": "with mg.no_grad():; >for i in range(n):; >>y[i].mul_(2); y = y * x",
    "by a tensor, a copy": "for i in mg.arange(n):; >y[i].mul_(2)",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@table("text", ROWS.values())
def test_a_row_that_a_number_of_the_graph_names_is_a_view(text, way):
    """`for r in y: r -= r.mean()` left y as it was: the row was a copy. In eager mode a row is a view of y."""
    f = written(body(f"y = x * 1; {text}; return y").replace("f(x)", "f(x, n)"))
    found = []
    for call in (f, mg.function(f, **way)):
        leaf = mg.tensor([[1.0, 2, 3], [4, 5, 6]], requires_grad=True)
        x = leaf * 1
        y = call(x, mg.tensor(2))
        slopes = mg.autograd.grad((y * y).sum(), [leaf], materialize_grads=True) if y.requires_grad else [mg.zeros(1)]
        found.append([t.detach().numpy() for t in (y, x, *slopes)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-12)


def test_an_edit_of_a_tensor_that_may_be_a_row_is_refused():
    largest = "best = y[0]; for r in y:; >if r.sum() > best.sum():; >>best = r"
    f = written(body(f"y = x * 1; {largest}; best += 10; return y"))
    with pytest.raises(EditedError, match="may be a view"):
        mg.function(f)(mg.tensor([[1.0, 2], [3, 4]]))


IN_LOOPS = {  # c is the whole, n is 3 and a number of the graph; after it, whether a graph can be right
    "a = c[:1]; for v in x:; >c.mul_(1.5); >a = a * 1": False,
    "a = c[:1]; for v in x:; >a.mul_(2)": True,
    "a = c.T; t = 0.0; for v in x:; >a.mul_(2)": True,
    "a = c[:1]; t = 0.0; for v in x:; >a.mul_(2); >t = t + c.sum(); a = a + t": False,
    "a, b = c[:1], c[1:2]; for v in x:; >a, b = b, a * 2; a = a + b": True,
    "a, b = c[:1], c[1:2]; for v in x:; >a.mul_(2); >a, b = b, a": False,
    "a, b = c[0], c[1]; for v in x:; >b.copy_(a * 2); >a, b = b, a": False,
    "a = c[0]; for i in range(n):; >a = c[i]; >c.mul_(2)": True,
    "a = c[0]; for i in range(n):; >a.mul_(2); >a = c[i]": False,
    "a = c[0]; for i in range(n):; >c[i].add_(a); >a = c[i]": True,
    "a = c[0]; for r in c:; >c.mul_(2); >a = a + r": False,
    "a = c[0]; for r in c:; >r.add_(a); >a = r": True,
    "a = c[0]; for r in c:; >a.mul_(2); >a = r": False,
    "a = c[0]; for i in range(n):; >a = a.view(2); c.mul_(3)": False,
}


@table("text, is_right", IN_LOOPS.items())
def test_views_beside_their_whole_in_a_loop_are_right_or_refused(text, is_right):
    f = written(body(f"n = int(x.sum() * 0 + 3); c = x * 1; {text}; return c, a"))
    x = np.arange(6.0).reshape(3, 2)
    if is_right:
        compare(f, x)
    else:
        with pytest.raises(EditedError):
            mg.function(f)(mg.tensor(x))
