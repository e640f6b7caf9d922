"""A trace reads something, it changes, and the function is called again: the result is the eager one, or refused.

FROZEN lists what no trace can see: each has a row in docs/differences.md.
"""

import copy
import dataclasses
import functools
import inspect
import itertools
import operator
import os
import pickle
import random
import sys
import threading
import types
from types import SimpleNamespace as Held

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ConversionError, GraphError, MinigradError
from minigrad.engine.base.pytree import leaves
from tests.examples import CASES, title
from tests.support.python_calls import count_calls
from tests.support.table import table

nn, put = mg.nn, operator.setitem
X = mg.tensor([1.0, 2.0])
WAYS = {"function": mg.function, "as written": functools.partial(mg.function, autograph=False), "jit": mg.jit}
# ruff: noqa: PLW0108, E731  (`lambda: f()` looks f up at each call; a table reads better with small functions)
pytestmark = pytest.mark.filterwarnings("ignore::minigrad.graph.function.RetracingWarning")


def give_code(s):
    s.f.__code__ = (lambda a, b=2: a).__code__


class Module(nn.Module):
    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


class Object:
    k = 2.0

    def __init__(self, **values):
        vars(self).update(values)

    def gain(self):
        return self.a


class Other(Object):
    gain = append = lambda self, x=1.0: x * vars(self).get("scale", 9.0)


class Text(Object):  # noqa: PLW1641
    """Its number is read by methods that code calls without naming them."""

    __repr__ = lambda self: "a" * int(self.a)
    __hash__ = __index__ = lambda self: int(self.a)
    __eq__ = lambda self, other: self.a == other


@dataclasses.dataclass(order=True)
class Record:
    a: float = 2.0


QUEUE, GET = Other(), operator.attrgetter("a")


def read_field(record):
    match record:
        case Record(a):
            return a


def function(make=Held):
    def f(a=1.0):
        return a

    return make(f=f)


def pair(make=Held):
    p = [1.0]
    return make(p=p, q=p)


def replace_data(s):
    s.w.data = mg.tensor([5.0, 6.0])


def replace_by_column(s):
    s.w.data = mg.tensor([[5.0, 1.0], [5.0, 2.0]])[:, 0]


def adam():
    w = mg.tensor([1.0], requires_grad=True)
    w.grad = mg.ones(1)
    return Held(o=mg.optim.Adam([w]))


REPLACED = []


def replace(of, name, value, read=lambda s: s.m(X)):
    """A change that replaces an attribute of a class or module of minigrad; restore() undoes it."""

    def change(s):
        REPLACED.append((of, name, vars(of).get(name)))
        setattr(of, name, value)

    return lambda: Held(m=nn.Sequential(nn.ReLU())), read, change


def restore():
    while REPLACED:
        of, name, before = REPLACED.pop()
        setattr(of, name, before) if before else delattr(of, name)


def python_module():
    made = Held(m=types.ModuleType("m"))
    made.m.a = 2.0
    return made


def queued():
    QUEUE.__dict__ = {"scale": 2.0}
    return Held(q=QUEUE)


def leaf_or_not(s):
    y = s.w.detach().requires_grad_()
    (y * X).sum().backward()
    return y * y.grad * choose(y.is_leaf)


give = lambda name, value: lambda s: setattr(s, name, value)
give_class = lambda name, value: lambda s: setattr(type(s), name, value)
choose = lambda condition: 2.0 if condition else 3.0
new_class = lambda **space: type("Kind", (), space)
new_object = lambda: new_class()()
new_lower = lambda: type("Lower", (Object,), {"a": 2.0})()
array = lambda make=Held: make(a=np.ones(2))
weight = lambda *numbers, grad=False: Held(w=mg.tensor(numbers or (1.0, 1.0), requires_grad=grad))
result = lambda: Held(w=weight(grad=True).w * 2)
five, no_name = give("a", 5.0), give("__name__", "")
ob = functools.partial(Object, a=2.0)
text = functools.partial(Text, a=2)
# name → what is held, what the trace computes of it, and what then happens to it
ROWS = {
    # the three that a first way to guard these reads got wrong
    "detach, then data": (weight, lambda s: s.w.detach(), replace_data),
    "detach and requires_grad_, a leaf": (weight, leaf_or_not, replace_data),
    "detach and requires_grad_, edited": (weight, lambda s: s.w.add_(s.w.detach().requires_grad_()), replace_data),
    "an iterator in a variable": (lambda: Held(i=itertools.cycle([2.0, 3.0])), lambda s: next(s.i), lambda s: s),
    "a generator in a variable": (lambda: Held(i=iter((2.0, 3.0, 4.0, 5.0))), lambda s: next(s.i), lambda s: s),
    "append of a user": (queued, lambda s: QUEUE.append(1), lambda s: give("scale", 3.0)(s.q)),
    "append of a user, held": (queued, lambda s: s.q.append(1), lambda s: give("scale", 3.0)(s.q)),
    "append of a user, replaced": (queued, lambda s: QUEUE.append(1), lambda s: give("append", lambda x: 9)(s.q)),
    # tensors
    "data": (weight, lambda s: s.w.data, replace_data), "tensor(w)": (weight, lambda s: mg.tensor(s.w), replace_data),
    "tensor(w), edited": (weight, lambda s: mg.tensor(s.w), lambda s: s.w.add_(1)),
    "as_tensor(w * 1)": (weight, lambda s: mg.as_tensor(s.w * 1), replace_data),
    "Parameter(w)": (weight, lambda s: nn.Parameter(s.w), replace_data),
    "deepcopy(w)": (weight, lambda s: copy.deepcopy(s.w), lambda s: s.w.add_(1)),
    "pickle of w": (weight, lambda s: pickle.loads(pickle.dumps(s.w)), lambda s: s.w.add_(1)),
    "new_tensor": (weight, lambda s: mg.ones(1).new_tensor(s.w), replace_data),
    "repr(w)": (weight, lambda s: len(repr(s.w)), lambda s: s.w.add_(100.25)),
    "format of w": (weight, lambda s: len(f"{s.w}"), lambda s: s.w.add_(100.25)),
    "stride": (weight, lambda s: s.w.stride()[0], replace_by_column),
    "is_contiguous": (weight, lambda s: choose(s.w.is_contiguous()), replace_by_column),
    "_version": (weight, lambda s: s.w._version, lambda s: s.w.add_(1)),
    "requires_grad": (weight, lambda s: choose(s.w.requires_grad), lambda s: s.w.requires_grad_()),
    "requires_grad of a result": (weight, lambda s: choose((s.w * X).requires_grad), lambda s: s.w.requires_grad_()),
    "is_leaf": (result, lambda s: choose(s.w.is_leaf), lambda s: s.w.detach_()),
    "is_leaf of a result": (weight, lambda s: choose((s.w * X).is_leaf), lambda s: s.w.requires_grad_()),
    "grad_fn": (result, lambda s: choose(s.w.grad_fn), lambda s: s.w.detach_()),
    "grad_fn of a result": (weight, lambda s: choose((s.w * X).grad_fn), lambda s: s.w.requires_grad_()),
    "retains_grad": (result, lambda s: choose(s.w.retains_grad), lambda s: s.w.retain_grad()),
    "state_dict": (lambda: nn.LayerNorm(2), lambda s: s.state_dict()["bias"], lambda s: nn.init.ones_(s.bias)),
    # random numbers of minigrad
    "state of a generator": (lambda: mg.Generator(3), lambda s: s.get_state()[1], lambda s: s.next_key()),
    "seed of a generator": (lambda: mg.Generator(3), lambda s: s.initial_seed(), lambda s: s.manual_seed(5)),
    "the state of all": (lambda: mg.manual_seed(3), lambda s: mg.get_rng_state()[1], lambda s: mg.rand(1)),
    "manual_seed": (Held, lambda s: mg.manual_seed(3) and mg.rand(1), lambda s: s),
    "a copy of a generator": (lambda: Held(g=mg.Generator()), lambda s: mg.rand(1, generator=copy.deepcopy(s.g)), five),
    "a generator of the function": (Held, lambda s: mg.rand(1, generator=mg.Generator(3)), lambda s: s),
    # functions and classes
    "__name__": (function, lambda s: len(s.f.__name__), lambda s: give("__name__", "abc")(s.f)),
    "__qualname__": (function, lambda s: len(s.f.__qualname__), lambda s: give("__qualname__", "abc")(s.f)),
    "__doc__": (function, lambda s: len(s.f.__doc__ or ""), lambda s: give("__doc__", "abc")(s.f)),
    "__module__": (function, lambda s: len(s.f.__module__), lambda s: give("__module__", "abc")(s.f)),
    "an attribute of a function": (function, lambda s: getattr(s.f, "a", 2.0), lambda s: five(s.f)),
    "the dictionary of a function": (function, lambda s: len(vars(s.f)), lambda s: five(s.f)),
    "the signature": (function, lambda s: len(inspect.signature(s.f).parameters), give_code),
    "__name__, in a module": (lambda: function(Module), lambda s: len(s.f.__name__), lambda s: no_name(s.f)),
    "__name__ of a class": (new_class, lambda s: len(s.__name__), give("__name__", "abc")),
    "the dictionary of a class": (lambda: new_class(a=2.0), lambda s: vars(s)["a"], five),
    "the bases of a class": (new_lower, lambda s: s.gain(), give_class("__bases__", (Other,))),
    "a method of minigrad is replaced": replace(nn.ReLU, "forward", lambda self, x: x * 7),
    "__call__ of minigrad is replaced": replace(nn.ReLU, "__call__", lambda self, x: x * 7),
    "__len__ of minigrad is replaced": replace(nn.Sequential, "__len__", lambda self: 7, lambda s: len(s.m)),
    "__getitem__ of minigrad": replace(nn.Sequential, "__getitem__", lambda *_: mg.tanh, lambda s: s.m[0](X)),
    "__bool__ of minigrad comes later": replace(nn.Sequential, "__bool__", lambda _: False, lambda s: choose(s.m)),
    "a function of minigrad is replaced": replace(nn.functional, "relu", mg.tanh, lambda s: nn.functional.relu(X)),
    # attributes that the code does not name
    "vars(o)": (ob, lambda s: vars(s)["a"], five), "getmembers": (ob, lambda s: dict(inspect.getmembers(s))["a"], five),
    "vars(o) of what is held": (lambda: Held(o=ob()), lambda s: vars(s.o)["a"], lambda s: five(s.o)),
    "__dict__": (ob, lambda s: s.__dict__["a"], five), "attrgetter": (ob, lambda s: operator.attrgetter("a")(s), five),
    "all of __dict__": (ob, lambda s: sum(s.__dict__.values()), give("b", 3.0)),
    "dir(o)": (ob, lambda s: len([n for n in dir(s) if n[0] == "z"]), give("zz", 3.0)),
    "object.__getattribute__": (ob, lambda s: object.__getattribute__(s, "a"), five),
    "object.__getattribute__ of a module": (lambda: Module(a=2.0), lambda s: object.__getattribute__(s, "a"), five),
    "__getstate__": (ob, lambda s: s.__getstate__()["a"], five), "a record that is matched": (Record, read_field, five),
    "__reduce_ex__": (ob, lambda s: s.__reduce_ex__(2)[2]["a"], five), "an attrgetter of a variable": (ob, GET, five),
    "copy of an object": (ob, lambda s: copy.copy(s).__dict__["a"], five),
    "a computed name": (ob, lambda s: getattr(s, "".join(["a"])), five),
    "a name in a text": (lambda: Object(a_w=2.0), lambda s: next(getattr(s, f"{n}_w") for n in "a"), give("a_w", 5.0)),
    "a name that is replaced": (ob, lambda s: next(getattr(s, n.replace("b", "a")) for n in "b"), five),
    "a path of names": (ob, lambda s: functools.reduce(getattr, str.split("a.real", "."), s), five),
    "a computed name and a text as default": (ob, lambda s: next(getattr(s, n, "") for n in ["".join("a")]), five),
    "names of a tuple": (ob, lambda s: sum(getattr(s, n) for n in ("a", "k")), five),
    "getattr, and it comes later": (ob, lambda s: getattr(s, "b", 2.0), give("b", 3.0)),
    "getattr, and its class gets it": (new_object, lambda s: getattr(s, "b", 2.0), give_class("b", 3.0)),
    "hasattr, and it comes later": (ob, lambda s: choose(hasattr(s, "b")), give("b", 3.0)),
    "methodcaller": (ob, lambda s: operator.methodcaller("gain")(s), five),
    "vars of a Python module": (python_module, lambda s: vars(s.m)["a"], lambda s: five(s.m)),
    "asdict": (Record, lambda s: dataclasses.asdict(s)["a"], five),
    "== of records": (lambda: Held(r=Record(), o=Record()), lambda s: choose(s.r == s.o), lambda s: five(s.r)),
    "< of records": (lambda: Held(r=Record(), o=Record()), lambda s: choose(s.r > s.o), lambda s: five(s.r)),
    "repr of a record": (Record, lambda s: len(repr(s)), give("a", 3.25)),
    "a record in a text": (lambda: Held(r=Record()), lambda s: len(f"{s.r}"), lambda s: give("a", 3.25)(s.r)),
    "== of namespaces": (lambda: Held(r=Held(a=2.0)), lambda s: choose(s.r == Held(a=2.0)), lambda s: five(s.r)),
    # special methods
    "repr": (text, lambda s: len(repr(s)), give("a", 3)), "range": (text, lambda s: len(range(s)), give("a", 3)),
    "a text": (text, lambda s: len(f"{s}"), give("a", 3)), "==": (text, lambda s: choose(s == 2), give("a", 3)),
    "hash": (text, hash, give("a", 3)), "a method of another class": (ob, lambda s: s.gain(), give("__class__", Other)),
    "__bool__ comes later": (new_object, lambda s: choose(s), give_class("__bool__", lambda _: False)),
    "__len__ comes later": (new_object, lambda s: choose(s), give_class("__len__", lambda _: 0)),
    "__eq__ comes later": (new_object, lambda s: choose(s == 1), give_class("__eq__", lambda *_: True)),
    "__getattr__ comes later": (new_object, lambda s: getattr(s, "z", 2.0), give_class("__getattr__", lambda *_: 9.0)),
    "another class": (ob, lambda s: choose(isinstance(s, Other)), give("__class__", Other)),
    # identity
    "p is q": (lambda: pair(Module), lambda s: choose(s.p is s.q), give("q", [1.0])),
    "p is q of an object": (pair, lambda s: choose(s.p is s.q), give("q", [1.0])),
    "id": (lambda: pair(Module), lambda s: choose(id(s.p) == id(s.q)), give("q", [1.0])),
    "p[0] is p[1]": (lambda: Module(p=[[1.0]] * 2), lambda s: choose(s.p[0] is s.p[1]), lambda s: put(s.p, 1, [1.0])),
    # arrays and what belongs to an optimiser
    "writeable": (array, lambda s: choose(s.a.flags.writeable), lambda s: s.a.setflags(False)),
    "writeable, in a module": (lambda: array(Module), lambda s: choose(s.a.flags.writeable), lambda s: s.a.setflags(0)),
    "the state of an optimiser": (adam, lambda s: len(s.o.state), lambda s: s.o.step()),
    "an option": (adam, lambda s: s.o.param_groups[0]["lr"], lambda s: s.o.param_groups[0].update(lr=3.0)),
    "buffers": (lambda: nn.BatchNorm1d(2), lambda s: len([*s.buffers()]), lambda s: s.register_buffer("z", mg.ones(1))),
}  # fmt: skip


def results(way, row):
    """What two calls before the change and two after it return; the last may be the error of a refusal."""
    make, read, change = row
    restore()
    held, found = make(), []
    f = way(lambda x: x * read(held))
    for turn in range(4):
        if turn == 2:
            change(held)
        try:
            found.append(f(X).tolist())
        except MinigradError as refusal:
            return [*found, refusal]
    restore()
    return found


@pytest.mark.parametrize("way", WAYS)
@table("name", ROWS)
def test_what_a_trace_read_changes(name, way):
    eager, traced = (results(make, ROWS[name]) for make in (lambda f: f, WAYS[way]))
    refused = traced and isinstance(traced[-1], MinigradError)
    assert refused or traced == eager
    assert refused == (name in REFUSED)
    assert not refused or REFUSED[name] in str(traced[-1])


SEEDS = "uses the state or the seed of a random generator"
REFUSED = dict.fromkeys(["state of a generator", "seed of a generator", "the state of all", "manual_seed"], SEEDS)
REFUSED |= {"a copy of a generator": SEEDS, "detach and requires_grad_, edited": "edit a copy"}
REFUSED |= {"a generator of the function": SEEDS, "_version": "the count of edits", "grad_fn of a result": "grad_fn of"}
FROZEN = {
    "a number of a list": (lambda: Held(a=[2.0]), lambda s: s.a[0], lambda s: put(s.a, 0, 3.0)),
    "a global number": (lambda: put(globals(), "N", 2.0), lambda s: N, lambda s: put(globals(), "N", 3.0)),  # noqa: F821
    "Python's random": (lambda: random.seed(1), lambda s: random.random(), lambda s: s),
    "NumPy's random": (lambda: np.random.seed(1), lambda s: np.random.rand(), lambda s: s),  # noqa: NPY002
    "os.environ": (lambda: put(os.environ, *"A2"), lambda s: float(os.environ["A"]), lambda s: put(os.environ, *"A3")),
    "a method of Tensor": replace(mg.Tensor, "relu", mg.tanh, lambda s: X.relu()),
    "the text of x": (Held, lambda s: len(str(X * 1)), lambda s: s),
}  # fmt: skip


@table("name", FROZEN)
def test_what_no_trace_sees_is_a_constant_of_it(name):
    eager, traced = (results(make, FROZEN[name]) for make in (lambda f: f, mg.function))
    assert traced == traced[:1] * 4 != eager


@table("case", CASES, ids=title)
def test_a_trace_knows_what_requires_a_gradient(case):
    """It was True for each float, is_leaf always False. Now it is what the same ops give eagerly."""
    op, *xs = case
    for wanted in [range(len(xs)), *([i] for i in range(len(xs)))]:
        given = [mg.Tensor(x.value, requires_grad=i in wanted and x.spec.is_float) for i, x in enumerate(xs)]
        ask = lambda *xs: [(y.requires_grad, y.is_leaf) for y in leaves(xs[0].apply(op, *xs[1:]))]
        if any(x.requires_grad for x in given):
            assert mg.function(ask, autograph=False)(*given) == ask(*given)


def test_requires_grad_of_arguments_and_of_what_was_made_to_require_it():
    x = mg.tensor([1.0, 2.0])
    f = mg.function(lambda x: [x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad_().is_leaf])
    for wanted in (False, True, False):
        assert f(x.requires_grad_(wanted)) == [wanted, wanted, True]
    with mg.no_grad():
        assert mg.function(lambda x: (x * 2).requires_grad)(x.requires_grad_()) is False
    asked = mg.function(lambda x: mg.while_loop(lambda y: y < 9, lambda y: y * 2 if y.requires_grad else y * 3, [x])[0])
    with pytest.raises(GraphError, match="requires_grad of"):
        asked(mg.tensor(1.0))
    each = mg.function(lambda x, n: all((x := x * 2).requires_grad for _ in range(n)), autograph=False)
    few, many = (count_calls(each, mg.tensor([1.0], requires_grad=True), n) for n in (50, 100))
    assert many < 2.5 * few  # each read went through all ops before it: 1.1 s for 1,000 reads


def test_the_class_of_a_number_that_a_loop_carries():
    def f(x, look=id):
        k = 0
        for _ in x:
            k = k + 1
        look(k)
        same = [operator.attrgetter("__class__")(k), object.__getattribute__(k, "__class__"), GET_CLASS(k)]
        return x * choose(same == [int] * 3 and not hasattr(x, "name"))

    assert mg.function(f)(mg.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    for look in ({2: 3.0}.get, {2, 3}.__contains__, lambda k: {k, 1}):  # equal numbers are one key
        with pytest.raises(ConversionError, match="only a run knows this number"):
            mg.function(f)(X, look)


GET_CLASS = operator.attrgetter("__class__")


def quiet(v, _):
    with mg.no_grad():
        v.mul_(0.5)


def in_branch(edit, v, x):
    if x.sum() > 0:
        edit(v, x)


def in_loop(edit, v, x):
    for _ in x:
        edit(v, x)


@table("edit", [quiet, lambda v, x: v.detach().mul_(0.5), lambda v, x: v.mul_(x.sum())])
@pytest.mark.parametrize("way", [in_branch, in_loop, lambda edit, *given: edit(*given)])
def test_a_branch_or_a_loop_edits_a_view(way, edit):
    """The gradient towards the tensor that the view is of was 0; after a recorded edit, without a branch too."""

    def f(x):
        y = x * 3.0
        v = y.T
        way(edit, v, x)
        loss = (v[:9] * 0.7).sin().sum()
        return mg.stack(mg.autograd.grad(loss, [x, y], retain_graph=True))

    eager, traced = (run(f)(mg.tensor([[1.0, 2.0]], requires_grad=True)) for run in (lambda f: f, mg.function))
    assert traced.tolist() == eager.tolist()


def counted(read, make):
    """How often a function is traced whose record gets another step between calls; its code does not read the step."""
    held = make()
    held.step = 0
    f = mg.function(lambda x: x * read(held, x))
    for held.step in range(4):
        f(X)
    return f.trace_count


COMPARED = {
    "a number": lambda r, x: r.a if x.shape[0] == 2 else 0.0,
    "a larger number": lambda r, x: r.a if r.a < 300 else 0.0,
    "numbers": lambda r, x: r.a if r.a in (2.0, 3.0) else 0.0,
    "a text": lambda r, x: r.a if r.__class__.__name__ != "None" else 0.0,
    "getattr with a default": lambda r, x: getattr(r, "a", r.a) * getattr(x.shape[0], "real", 1.0),
}


@table("name", COMPARED)
@pytest.mark.parametrize("make", [Record, lambda: Held(a=2.0)])
def test_a_comparison_with_a_constant_reads_no_fields_of_records(name, make):
    assert counted(COMPARED[name], make) == 1


def test_another_thread_may_add_attributes_while_a_trace_is_compared():
    """A set was made of the names in a dictionary that grew meanwhile."""
    held, done = Object(**{f"c{n}": 1.0 for n in range(200)}), threading.Event()
    f = mg.function(lambda x: x * vars(held)["c1"])
    f(X)

    def edit():
        while not done.is_set():
            for n in range(50):
                setattr(held, f"b{n}", 1.0)
            for n in range(50):
                delattr(held, f"b{n}")

    editor, interval = threading.Thread(target=edit), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    editor.start()
    try:
        for _ in range(300):
            f.latest.guards.reached.again()
    finally:
        sys.setswitchinterval(interval)
        done.set()
        editor.join()


def test_a_view_of_detach_that_an_edit_gave_a_gradient_shares_memory_too():
    """Its history was lost: backward() gave 0, or found nothing that requires a gradient; then it was refused."""
    for last in (lambda y: y, lambda y: y.T, lambda y: y[0]):
        x = mg.ones(2, 2, requires_grad=True)
        y = mg.function(lambda x: last(x.detach().add_(x * 2)))(x)  # noqa: B023
        y.sum().backward()
        assert x.grad.sum() == 2 * y.numel()
        y.data.zero_()
        assert x.sum() == 12 - 3 * y.numel()
    f = mg.function(lambda: x.detach())
    assert f().requires_grad_() is not f()  # each run makes its own tensor
