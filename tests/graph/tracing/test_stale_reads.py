"""What Python reads while a function is traced is compared in later calls, wherever it is kept: in an object that a
module holds or that comes as an argument, in a class, in a function, or in the module's own dictionary.
"""

import collections
import contextvars
import ctypes
import functools
import itertools
import math
import operator
import random
import types
import weakref
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

nn = mg.nn
X = mg.tensor([1.0, 2.0])
# ruff: noqa: PLW0108  (`lambda: f()` looks f up at each call)
pytestmark = pytest.mark.filterwarnings("ignore::minigrad.graph.function.RetracingWarning")


def give(value, name="a"):
    """A change: the attribute gets the value."""
    return lambda held: setattr(held, name, value)


def put(value, key=0):
    return lambda held: operator.setitem(held, key, value)


def times_a(held, x):
    return x * held.a


def times_item_of_a(held, x):
    return x * held.a[0]


def times_first(held, x):
    return x * held[0]


def called(held, x):
    return x * held()


def instance(base=object, **space):
    return lambda: type("Kind", (base,), space)()


def with_attributes(x, **values):
    for name, value in values.items():
        setattr(x, name, value)
    return x


def one():
    return lambda *_: 1.0


def generic():
    return functools.singledispatch(lambda _: 1.0)


def meta(is_object):
    made = type("Meta", (type,), {"a": 1.0})("Kind", (), {})
    return made() if is_object else made


def view_of_dict():
    d = {0: 1.0}
    return d.values(), d


def proxy_of_dict():
    d = {0: 1.0}
    return types.MappingProxyType(d), d


def variable():
    made = contextvars.ContextVar("made")
    made.set(1.0)
    return made


def inner(top):
    return functools.reduce(lambda held, _: held[0], range(30), top)


class Gain:
    """A copy has a = 1.0, whatever a is now."""

    def __init__(self, a):
        self.a = a

    def __reduce__(self):
        return Gain, (1.0,)

    def method(self):
        return self.a

    def __call__(self):
        return self.a

    def __len__(self):
        return int(self.a)

    def __getitem__(self, i):
        return self.a

    def __enter__(self):
        return self.a

    def __exit__(self, *raised):
        pass

    def __mul__(self, x):
        return x * self.a


class Hidden:
    """Pickle does not see its slot."""

    __slots__ = ("a",)

    def __init__(self):
        self.a = 1.0

    def __reduce__(self):
        return Hidden, ()


class Slots(list):
    __slots__ = ("a",)


class ListInSlot:
    __slots__ = ("a",)

    def __init__(self):
        self.a = [1.0]


class Derived(ListInSlot):
    pass


@dataclass(frozen=True)
class Frozen:
    a: list = field(default_factory=lambda: [1.0])


Pair = collections.namedtuple("Pair", "a b")


class Array(np.ndarray):
    pass


def change_item_of_a(held):
    held.a[0] = 5.0


# Each call gets another number of them.
GENERATORS = {
    "an iterator": (lambda: itertools.count(1.0), lambda held, x: x * next(held), None),
    "a generator": (lambda: (float(i) for i in range(9)), lambda held, x: x * next(held), None),
    "an iterator of a list": (lambda: iter([1.0, 2.0, 3.0, 4.0, 5.0]), lambda held, x: x * next(held), None),
    "random numbers of NumPy": (lambda: np.random.default_rng(3), lambda held, x: x * held.random(), None),
    "random numbers of Python": (lambda: random.Random(3), lambda held, x: x * held.random(), None),
}  # fmt: skip
five = give(lambda *_: 5.0, "m")
# What a module holds → the object, what forward computes of it, and how the object changes.
HELD = {
    "a slot of a list": (lambda: with_attributes(Slots(), a=1.0), times_a, give(5.0)),
    "a slot that pickle does not see": (Hidden, times_a, give(5.0)),
    "the default factory of a dictionary":
        (lambda: collections.defaultdict(one()), lambda held, x: x * held.default_factory(),
         give(lambda: 5.0, "default_factory")),
    "a list in a tuple in a tuple":
        (lambda: (([1.0],),), lambda held, x: x * held[0][0][0], lambda h: put(5.0)(h[0][0])),
    "an attribute of an array": (lambda: with_attributes(np.ones(2).view(Array), a=1.0), times_a, give(5.0)),
    "the mask of an array": (lambda: np.ma.array([1e20, 2.0]), lambda h, x: x * float(h.sum()), put(np.ma.masked)),
    "the names of fields":
        (lambda: np.array([(1.0, 5.0)], [("a", float), ("b", float)]), lambda held, x: x * held["a"][0],
         lambda held: setattr(held.dtype, "names", ("b", "a"))),
    "what a pointer points to": (lambda: ctypes.pointer(ctypes.c_double(1.0)), times_first, put(5.0)),
    "a view of a dictionary": (view_of_dict, lambda h, x: x * next(iter(h[0])), lambda h: put(5.0)(h[1])),
    "a proxy of a dictionary": (proxy_of_dict, lambda h, x: x * h[0][0], lambda h: put(5.0)(h[1])),
    "a method of a list": (lambda: [1.0].__getitem__, lambda h, x: x * h(0), lambda h: put(5.0)(h.__self__)),
    "what a weak reference leads to":
        (lambda: (lambda kept: (weakref.ref(kept), kept))(Gain(1.0)), lambda held, x: x * held[0]().a,
         lambda held: give(5.0)(held[1])),
    "a context variable": (variable, lambda held, x: x * held.get(), lambda held: held.set(5.0)),
    "a Python module": (lambda: with_attributes(types.ModuleType("settings"), a=1.0), times_a, give(5.0)),
    "a list of a Python module":
        (lambda: with_attributes(types.ModuleType("settings"), a=[1.0]), lambda held, x: x * held.a[0],
         lambda held: put(5.0)(held.a)),
    "an attribute of a metaclass": (lambda: meta(False), times_a, lambda held: give(5.0)(type(held))),
    "an attribute of an object's metaclass":
        (lambda: meta(True), lambda held, x: x * type(held).a, lambda held: give(5.0)(type(type(held)))),
    "the code of a function": (one, called, give((lambda *_: 5.0).__code__, "__code__")),
    "a default of a function that had none":
        (lambda: lambda *xs: 1.0 + len(one().__defaults__ or xs), lambda held, x: x * len(held.__defaults__ or ()),
         give((5.0,), "__defaults__")),
    "an attribute of a function": (lambda: with_attributes(one(), a=1.0), times_a, give(5.0)),
    "an attribute that a function had not": (one, lambda held, x: x * getattr(held, "a", 1.0), give(5.0)),
    "a function for another type": (generic, lambda h, x: x * h(3), lambda h: h.register(int, lambda _: 5.0)),
    "the sign of a complex zero":
        (lambda: SimpleNamespace(a=0j), lambda held, x: x * math.copysign(1, held.a.imag), give(complex(0.0, -0.0))),
    "a list in a slot": (ListInSlot, times_item_of_a, change_item_of_a),
    "a slot of a base class": (Derived, times_item_of_a, give([5.0])),
    "a list in a frozen dataclass": (Frozen, times_item_of_a, change_item_of_a),
    "a list in a named tuple": (lambda: Pair([1.0], 1.0), times_item_of_a, change_item_of_a),
    "an object that hides its state": (lambda: Gain(1.0), times_a, give(5.0)),
    "a method of an object": (lambda: Gain(1.0).method, called, lambda held: give(5.0)(held.__self__)),
    "a class": (lambda: type("Kind", (Gain,), {"a": 1.0}), times_a, give(5.0)),
    "a deque": (lambda: collections.deque([1.0]), times_first, lambda held: held.appendleft(5.0)),
    "an object in a set": (lambda: {Gain(1.0)}, lambda h, x: x * next(iter(h)).a, lambda h: give(5.0)(next(iter(h)))),
    "a defaultdict": (lambda: collections.defaultdict(float), lambda held, x: x * held.get(0, 1.0), put(5.0)),
    "a ChainMap": (lambda: collections.ChainMap({0: 1.0}), times_first, put(5.0)),
    "a partial": (lambda: functools.partial(lambda a: a, a=1.0), called, lambda h: h.keywords.update(a=5.0)),
    "a cell of a closure":
        (lambda: (lambda a: lambda: a)(1.0), called, lambda held: give(5.0, "cell_contents")(held.__closure__[0])),
    "a default argument": (lambda: lambda a=2.0: a, called, give((5.0,), "__defaults__")),
    "30 lists in lists":
        (lambda: functools.reduce(lambda held, _: [held], range(30), [1.0]), lambda h, x: x * inner(h)[0],
         lambda h: put(5.0)(inner(h))),
    "an object of objects":
        (lambda: functools.reduce(lambda held, _: Gain(held), range(5), 1.0), lambda held, x: x * held.a.a.a.a.a,
         lambda held: give(5.0)(held.a.a.a.a)),
    "an array of objects":
        (lambda: np.array([[1.0], 2], dtype=object), lambda h, x: x * h[0][0], lambda h: put(5.0)(h[0])),
    "a part of an array": (lambda: np.ones((40, 40))[::2, ::3], lambda h, x: x * h[0, 0], lambda h: h.fill(5)),
    "a long array": (lambda: np.ones(40000), times_first, put(5.0)),
    "a long list": (lambda: [1.0] * 1000, times_first, put(5.0)),
    "a long list of lists": (lambda: [[1.0]] * 1000, lambda h, x: x * h[0][0], lambda h: put(5.0)(h[0])),
    "a long list, another type": (lambda: [5] * 1000, lambda h, x: x * (type(h[0]) is int), put(5.0)),
    "a long list, another sign": (lambda: [0.0] * 1000, lambda h, x: x * np.copysign(1.0, h[0]), put(-0.0)),
    # Comparing the numbers with the parts raised AttributeError.
    "a long list, an object": (lambda: [1.0] * 64, lambda h, x: x * getattr(h[0], "a", h[0]), put(Gain(5.0))),
    "a long dictionary": (lambda: dict.fromkeys(range(1000), 1.0), times_first, put(5.0)),
} | GENERATORS  # fmt: skip
for base in (list, dict, set, tuple, float, int, str, object, collections.deque, Exception):
    of = f"of a class derived from {base.__name__}"
    HELD[f"an attribute {of}"] = instance(base, a=1.0), times_a, lambda held: give(5.0)(type(held))
    HELD[f"a method {of}"] = instance(base, m=one()), lambda held, x: x * held.m(), lambda held: five(type(held))
    HELD[f"a property {of}"] = (
        instance(base, a=property(one())), times_a, lambda held: give(property(lambda _: 5.0))(type(held)),
    )  # fmt: skip
    HELD[f"__call__ {of}"] = instance(base, __call__=one()), called, lambda h: give(lambda _: 5.0, "__call__")(type(h))


class Holder(nn.Module):
    def __init__(self, held, read):
        self.held, self.read = held, read

    def forward(self, x):
        return self.read(self.held, x)


def compare(make, traced, change):
    """Two calls before the change and two after it give the same traced and eagerly."""
    found = []
    for way in (mg.function, lambda f: f):
        held = make()
        f = traced(way, held)
        results = [f(X).numpy(), f(X).numpy()]
        if change is not None:
            change(held)
        found.append([*results, f(X).numpy(), f(X).numpy()])
    np.testing.assert_array_equal(*found)


@table("name", HELD)
def test_what_a_module_holds_changes(name):
    make, read, change = HELD[name]
    compare(make, lambda way, held: way(Holder(held, read)), change)


@table("name", HELD)
def test_what_a_module_holds_stays_and_is_no_reason_to_trace_again(name):
    make, read, change = HELD[name]
    f = mg.function(Holder(make(), read))
    for _ in range(4 if change else 1):
        f(X)
    assert f.trace_count <= 1 + (make is generic)  # which fills its cache in the first call


# -- what comes as an argument --------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    a: object


class Named:
    """Equal to all of the same name."""

    def __init__(self, name, a):
        self.name, self.a = name, a

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


def bound_list():
    kept = [1.0]
    return lambda: kept[0]


ARGUMENTS = {
    "a number of an object": (lambda: Gain(1.0), times_a, give(5.0)),
    "a number that a method reads": (lambda: Gain(1.0), lambda a, x: x * a.method(), give(5.0)),
    "a number that __call__ reads": (lambda: Gain(1.0), called, give(5.0)),
    "a number of an object that is equal": (lambda: Named("it", 1.0), times_a, give(5.0)),
    "a bound method": (lambda: Gain(1.0).method, called, lambda held: give(5.0)(held.__self__)),
    "a deque": (lambda: collections.deque([1.0]), times_first, put(5.0)),
    "a list of a closure": (bound_list, called, lambda held: put(5.0)(held.__closure__[0].cell_contents)),
    "the code of a function": (one, called, give((lambda *_: 5.0).__code__, "__code__")),
    "a list of a partial":
        (lambda: functools.partial(lambda a: a[0], [1.0]), called, lambda held: put(5.0)(held.args[0])),
    "an attribute of a class": (lambda: type("Kind", (), {"a": 1.0}), times_a, give(5.0)),
    "the keys of a dictionary":
        (lambda: {1: 0.0}, lambda held, x: x * isinstance(next(iter(held)), int),
         lambda held: (held.clear(), held.update({1.0: 0.0}))),
    "the type of a number in a set":
        (lambda: {True}, lambda held, x: x * (2.0 if True is next(iter(held)) else 3.0),
         lambda held: (held.clear(), held.add(1))),
}  # fmt: skip
ARGUMENTS |= GENERATORS


@table("name", ARGUMENTS)
def test_what_comes_as_an_argument_changes(name):
    make, read, change = ARGUMENTS[name]
    compare(make, lambda way, held: functools.partial(way(read), held), change)


PAIRS = [(0.0, -0.0), (np.float64(0.0), np.float64(-0.0)), (0j, complex(0.0, -0.0)), (True, 1), (1, 1.0)]
PAIRS += [(Options(a), Options(b)) for a, b in [(True, 1), (1, 1.0), (0.0, -0.0)]]
PAIRS += [(frozenset([a]), frozenset([b])) for a, b in [(True, 1), (1, 1.0)]] + [({1: 2}, {True: 2})]


@table("a, b", PAIRS)
def test_arguments_that_are_equal_and_not_the_same_have_a_trace_each(a, b):
    f = mg.function(lambda x, a: x * len(repr(a)))
    assert [f(X, v).tolist() for v in (a, b, a, b)] == [(X * len(repr(v))).tolist() for v in (a, b, a, b)]
    assert f.trace_count == 2


# -- modules themselves, their classes and their hooks --------------------------------------------------


def module(read, base=nn.Module, **space):
    def make():
        made = type("Kind", (base,), {"forward": lambda self, x: x * read(self), **space})()
        if not hasattr(made, "a"):
            made.a = 1.0
        return made

    return make


def hooked(hook):
    made = nn.Identity()
    made.register_forward_hook(hook)
    return made


def hook_with_cell():
    scale = [1.0]
    return with_attributes(hooked(lambda _, xs, y: y * scale[0]), scales=scale)


def hook_with_default():
    hook = lambda _, xs, y, a=1.0: y * a  # noqa: E731
    return with_attributes(hooked(hook), hook=hook)


def hook_of_object():
    hook = type("Hook", (), {"a": 1.0, "__call__": lambda self, _, xs, y: y * self.a})()
    return with_attributes(hooked(hook), hook=hook)


def layer(read):
    """A module with a layer of its own, of which forward reads something."""

    def make():
        made = module(read)()
        made.layer = nn.Linear(1, 1)
        return made

    return make


set_in_class = lambda name, value: lambda m: setattr(type(m), name, value)  # noqa: E731
MODULES = {
    "object.__setattr__": (module(lambda m: m.a), lambda m: object.__setattr__(m, "a", 5.0)),
    "its dictionary": (module(lambda m: m.a), lambda m: vars(m).update(a=5.0)),
    "read from its dictionary": (module(lambda m: vars(m)["a"]), give(5.0)),
    "read from its dictionary, and not there": (module(lambda m: vars(m).get("b", 1.0)), give(5.0, "b")),
    "a list read from its dictionary":
        (lambda: with_attributes(module(lambda m: m.__dict__["b"][0])(), b=[1.0]), lambda m: put(5.0)(m.b)),
    "how many attributes": (module(lambda m: len([n for n in dir(m) if n[:2] == "zz"])), give(1.0, "zz")),
    "a slot": (lambda: with_attributes(module(lambda m: m.s, __slots__=("s",))(), s=1.0), give(5.0, "s")),
    "an attribute with underscores":
        (lambda: with_attributes(module(lambda m: m.__scale__)(), __scale__=1.0), give(5.0, "__scale__")),
    "one of the class with underscores": (module(lambda m: m.__b__, __b__=1.0), set_in_class("__b__", 5.0)),
    "one of the class": (module(lambda m: m.b, b=1.0), set_in_class("b", 5.0)),
    "forward of the class": (module(lambda m: 1.0), set_in_class("forward", lambda self, x: x * 7)),
    "read of type(self)": (module(lambda m: type(m).b, b=1.0), set_in_class("b", 5.0)),
    "read of self.__class__": (module(lambda m: m.__class__.b, b=1.0), set_in_class("b", 5.0)),
    "read by a class method":
        (module(lambda m: m.m(), b=1.0, m=classmethod(lambda kind: kind.b)), set_in_class("b", 5.0)),
    "__len__": (module(len, __len__=lambda _: 1), set_in_class("__len__", lambda _: 5)),
    "__getitem__": (module(lambda m: m[0], __getitem__=one()), set_in_class("__getitem__", lambda *_: 5.0)),
    "a hook's cell": (hook_with_cell, lambda m: put(5.0)(m.scales)),
    "a hook's default": (hook_with_default, lambda m: give((5.0,), "__defaults__")(m.hook)),
    "an object that is a hook": (hook_of_object, lambda m: give(5.0)(m.hook)),
    "how many parameters learn":
        (layer(lambda m: sum(p.requires_grad for p in m.parameters())), lambda m: m.layer.requires_grad_(False)),
    "whether a tensor learns":
        (lambda: with_attributes(module(lambda m: 1.0 if m.b.requires_grad else 5.0)(), b=mg.ones(1)),
         lambda m: m.b.requires_grad_()),
    "the element of a tensor":
        (lambda: with_attributes(module(lambda m: m.b.item() + float(m.b.numpy()))(), b=mg.tensor(1.0)),
         lambda m: m.b.add_(4)),
    "the dtype of a weight": (layer(lambda m: m.layer.weight.dtype.itemsize), lambda m: m.half()),
}  # fmt: skip


@table("name", MODULES)
def test_a_module_changes_where_no_assignment_tells(name):
    make, change = MODULES[name]
    compare(make, lambda way, m: way(m), change)


# -- objects that a variable leads to -------------------------------------------------------------------


def in_context(held, x):
    with held as a:
        return x * a


@table("read", [called, lambda h, x: x * len(h), times_first, in_context, lambda h, x: h * x])
@pytest.mark.parametrize("where", ["variable", "attribute", "itself"])
def test_a_number_that_a_method_without_a_name_reads(where, read):
    """Only methods that the code names were looked into: f = mg.function(obj) kept what obj.__call__ had read."""
    ways = {
        "variable": lambda way, held: way(lambda x: read(held, x)),
        "attribute": lambda way, held: (lambda outer: way(lambda x: read(outer.held, x)))(SimpleNamespace(held=held)),
        "itself": lambda way, held: way(instance(__call__=lambda self, x: read(self.held, x), held=held)()),
    }
    compare(lambda: Gain(1.0), ways[where], give(5.0))


VALUES = [(np.float64(1), np.float64(5)), ((1.0, 2.0), (5.0, 2.0)), (slice(1), slice(5)), (range(1), range(5))]


@table("before, after", VALUES)
def test_an_attribute_of_an_object_holds_another_constant(before, after):
    """Only numbers and texts of Python's own were compared."""

    def read(held, x):
        a = held.a
        return x * (a.stop if isinstance(a, slice | range) else a[0] if isinstance(a, tuple) else a)

    compare(lambda: Gain(before), lambda way, held: way(lambda x: read(held, x)), give(after))


# -- hooks of tensors, which backward() calls while it is traced -----------------------------------------


HOOKS = {
    "a first hook": (lambda w: None, lambda w, _, scale: w.register_hook(lambda g: g * 5)),
    "one more hook": (lambda w: w.register_hook(lambda g: g * 2), lambda w, _, scale: w.register_hook(lambda g: g * 5)),
    "a hook is removed": (lambda w: w.register_hook(lambda g: g * 5), lambda w, handle, scale: handle.remove()),
    "what a hook reads": (None, lambda w, _, scale: put(5.0)(scale)),
    "a hook after the gradient":
        (lambda w: None, lambda w, _, scale: w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(5))),
}  # fmt: skip


def gradient_of(w):
    def gradient(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1

    return gradient


def scaling(scale):
    return lambda g: g * scale[0]


@table("name", HOOKS)
def test_the_hooks_of_a_tensor_change(name):
    before, change = HOOKS[name]
    found = []
    for way in (mg.function, lambda f: f):
        w, scale = nn.Parameter(mg.ones(2)), [1.0]
        handle = before(w) if before else w.register_hook(scaling(scale))
        f = way(gradient_of(w))
        results = [f(X).numpy(), f(X).numpy()]
        change(w, handle, scale)
        found.append([*results, f(X).numpy(), f(X).numpy()])
    np.testing.assert_array_equal(*found)


# -- other things that Python reads ----------------------------------------------------------------------

WEIGHT = mg.tensor(2.0)


class Inner(nn.Module):
    def forward(self, x):
        return x * WEIGHT


def test_a_global_tensor_that_the_forward_of_an_inner_layer_reads_is_replaced(monkeypatch):
    f = mg.function(nn.Sequential(nn.Sequential(Inner())))
    assert f(X).tolist() == [2.0, 4.0]
    monkeypatch.setitem(globals(), "WEIGHT", mg.tensor(5.0))
    assert f(X).tolist() == [5.0, 10.0]


def test_a_function_asks_whether_gradients_are_recorded():
    f = mg.function(lambda x: x * 2 if mg.is_grad_enabled() else x * 3)
    inside = mg.function(lambda x: mg.cond(x.sum() > 0, lambda: x * 2 if mg.is_grad_enabled() else x * 3, lambda: x))
    for traced in (f, inside):
        for _ in range(2):
            assert traced(X).tolist() == [2.0, 4.0]
            with mg.no_grad():
                assert traced(X).tolist() == [3.0, 6.0]
        assert len(traced.history) == 2


def test_an_argument_that_cannot_be_compared_is_refused_by_name_and_bytes_are_compared():
    f = mg.function(lambda x, held: x * held[0])
    held = bytearray([2])
    assert f(X, held).tolist() == [2.0, 4.0]
    held[0] = 3
    assert f(X, held).tolist() == [3.0, 6.0]
    with pytest.raises(TypeError, match=r"a SimpleNamespace, which has neither a hash .* pass what it holds"):
        mg.function(times_a)(SimpleNamespace(a=2.0), X)
