"""A traced function notices what changes after its trace: each program gives what its untraced twin gives."""

import collections
import dataclasses
import functools
import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

nn, optim = mg.nn, mg.optim
X = mg.tensor([1.0, 2.0])
# ruff: noqa: PLW0108  (`lambda: f()` looks f up at each call)
pytestmark = pytest.mark.filterwarnings("ignore::minigrad.graph.function.RetracingWarning")


# -- objects that a module holds ---------------------------------------------------------------------------


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1.0, [1.0]


class Derived(Slots):
    pass


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float = 1.0
    b: list = dataclasses.field(default_factory=lambda: [1.0])


@dataclasses.dataclass(slots=True)
class Slotted:
    a: float = 1.0


class Hidden:
    """Its copies lack a."""

    def __init__(self):
        self.a = 1.0

    def __reduce__(self):
        return (Hidden, ())

    def scale(self, x):
        return x * self.a


class OfClass:
    a = 1.0


Pair = collections.namedtuple("Pair", "a b")


def closure():
    a = 1.0

    def f(x):
        return x * a

    def change():
        nonlocal a
        a = 5.0

    f.change = change
    return f


def with_default():
    return lambda x, a=2.0: x * a


def nested(n):
    top = [1.0]
    for _ in range(n):
        top = [top]
    return top


def inner(top, n=30):
    return functools.reduce(lambda x, _: x[0], range(n), top)


def set_a(x):
    x.a = 5.0


def set_first(x):
    x[0] = 5.0


def call(a, x):
    return a(x)


# name: (the object, what forward computes of it and x, how the object changes)
OBJECTS = {
    "slots": (Slots, lambda a, x: x * a.a, set_a),
    "a list in a slot": (Slots, lambda a, x: x * a.b[0], lambda a: set_first(a.b)),
    "slots of a base class": (Derived, lambda a, x: x * a.a, set_a),
    "a frozen dataclass": (Frozen, lambda a, x: x * a.b[0], lambda a: set_first(a.b)),
    "a dataclass with slots": (Slotted, lambda a, x: x * a.a, set_a),
    "an object that hides its state": (Hidden, lambda a, x: x * a.a, set_a),
    "a method of an object": (lambda: Hidden().scale, call, lambda a: set_a(a.__self__)),
    "a class": (lambda: type("C", (OfClass,), {"a": 1.0}), lambda a, x: x * a.a, set_a),
    "the class of an object": (lambda: type("C", (), {"a": 1.0})(), lambda a, x: x * a.a, lambda a: set_a(type(a))),
    "a namedtuple": (lambda: Pair(1.0, [1.0]), lambda a, x: x * a.b[0], lambda a: set_first(a.b)),
    "a deque": (lambda: collections.deque([1.0]), lambda a, x: x * a[0], lambda a: a.appendleft(5.0)),
    "a set": (lambda: {1.0}, lambda a, x: x * sum(a), lambda a: a.add(5.0)),
    "an object in a set": (lambda: {Hidden()}, lambda a, x: x * next(iter(a)).a, lambda a: set_a(next(iter(a)))),
    "a defaultdict": (lambda: collections.defaultdict(float), lambda a, x: x * a.get(0, 1.0), set_first),
    "a ChainMap": (lambda: collections.ChainMap({0: 1.0}), lambda a, x: x * a[0], set_first),
    "a partial": (lambda: functools.partial(lambda x, a: x * a, a=1.0), call, lambda a: a.keywords.update(a=5.0)),
    "a cell of a closure": (closure, call, lambda a: a.change()),
    "a default argument": (with_default, call, lambda a: setattr(a, "__defaults__", (5.0,))),
    "30 lists in lists": (lambda: nested(30), lambda a, x: x * inner(a)[0], lambda a: set_first(inner(a))),
    "an object of objects":
        (lambda: SimpleNamespace(b=SimpleNamespace(b=SimpleNamespace(b=SimpleNamespace(b=SimpleNamespace(a=1.0))))),
         lambda a, x: x * a.b.b.b.b.a, lambda a: set_a(a.b.b.b.b)),
    "an iterator": (lambda: iter([1.0, 2.0, 3.0, 4.0, 5.0]), lambda a, x: x * next(a), None),
    "a generator": (lambda: (float(i) for i in range(9)), lambda a, x: x * next(a), None),
    "a count": (itertools.count, lambda a, x: x * next(a), None),
    "random numbers of Python": (lambda: random.Random(3), lambda a, x: x * a.random(), None),
    "random numbers of NumPy": (lambda: np.random.default_rng(3), lambda a, x: x * a.random(), None),
    "an array of objects":
        (lambda: np.array([[1.0], 2], dtype=object), lambda a, x: x * a[0][0], lambda a: set_first(a[0])),
    "a part of an array": (lambda: np.ones((40, 40))[::2, ::3], lambda a, x: x * a[0, 0], lambda a: a.fill(5)),
    "a long array": (lambda: np.ones(40000), lambda a, x: x * a[0], set_first),
    "a long list": (lambda: [1.0] * 1000, lambda a, x: x * a[0], set_first),
    "a long list of lists": (lambda: [[1.0]] * 1000, lambda a, x: x * a[0][0], lambda a: set_first(a[0])),
    "a long list, another type": (lambda: [5] * 1000, lambda a, x: x * (type(a[0]) is int), set_first),
    "a long list, another sign":
        (lambda: [0.0] * 1000, lambda a, x: x * np.copysign(1.0, a[0]), lambda a: a.__setitem__(0, -0.0)),
    "a long dictionary": (lambda: dict.fromkeys(range(1000), 1.0), lambda a, x: x * a[0], set_first),
}  # fmt: skip


class Holder(nn.Module):
    def __init__(self, held, read):
        self.held, self.read = held, read

    def forward(self, x):
        return self.read(self.held, x)


@table("name", OBJECTS)
def test_an_object_that_a_module_holds_changes(name):
    make, read, change = OBJECTS[name]
    results = []
    for way in (mg.function, lambda f: f):
        held = make()
        f = way(Holder(held, read))
        found = [f(X).numpy(), f(X).numpy()]
        if change is not None:
            change(held)
        results.append([*found, f(X).numpy(), f(X).numpy()])
    np.testing.assert_allclose(*results)


def test_an_object_that_stays_as_it_is_is_no_reason_to_trace_again():
    for name, (make, read, change) in OBJECTS.items():
        f = mg.function(Holder(make(), read))
        for _ in range(3 if change else 0):
            f(X)
        assert f.trace_count <= 1, name


# -- what names lead to: optimisers and other objects of the engine -------------------------------------------


def parameters():
    return nn.Parameter(mg.ones(2)), nn.Parameter(mg.ones(2))


def sgd(*ps, lr=0.1):
    return optim.SGD(ps, lr=lr)


def learn(o, w, v):
    o.zero_grad()
    ((w * v - 3) ** 2).sum().backward()
    o.step()


def add_group(w, v):
    o = sgd(w)
    return lambda: learn(o, w, v), lambda: o.add_param_group({"params": [v], "lr": 0.05})


def add_group_to_adam(w, v):
    o = optim.Adam([w], lr=0.1)
    return lambda: learn(o, w, v), lambda: o.add_param_group({"params": [v], "lr": 0.05})


def drop_group(w, v):
    o = optim.SGD([{"params": [w]}, {"params": [v]}], lr=0.1)
    return lambda: learn(o, w, v), lambda: o.param_groups.pop()


def append_parameter(w, v):
    o = sgd(w)
    return lambda: learn(o, w, v), lambda: o.param_groups[0]["params"].append(v)


def replace_groups(w, v):
    o = sgd(w)
    return lambda: learn(o, w, v), lambda: setattr(o, "param_groups", [{**o.param_groups[0], "lr": 0.01}])


def zero_only(w, v):
    o = sgd(w)

    def step():
        o.zero_grad()
        (w * v).sum().backward()
        with mg.no_grad():
            w.sub_(w.grad)
            v.sub_(v.grad)

    return step, lambda: o.add_param_group({"params": [v]})


def bound_globally(w, v):
    globals()["optimizer_of_all"] = sgd(w)
    return (
        lambda: learn(optimizer_of_all, w, v),  # noqa: F821
        lambda: globals().update(optimizer_of_all=sgd(w, v, lr=0.02)),
    )


class Trainer:
    def __init__(self, w, v):
        self.w, self.v, self.o, self.scale, self.steps = w, v, sgd(w), 1.0, 0

    def step(self):
        learn(self.o, self.w * self.scale, self.v)


def attribute_of_self(w, v):
    t = Trainer(w, v)
    return t.step, lambda: setattr(t, "o", sgd(w, v, lr=0.02))


def attribute(w, v):
    t = Trainer(w, v)
    return lambda: t.step(), lambda: setattr(t, "o", sgd(w, v, lr=0.02))


def number_of_an_object(w, v):
    t = Trainer(w, v)
    return lambda: t.step(), lambda: setattr(t, "scale", 2.0)


def in_dictionary(w, v):
    held = {"o": sgd(w)}
    return lambda: learn(held["o"], w, v), lambda: held.update(o=sgd(w, v, lr=0.02))


def in_list(w, v):
    held = [sgd(w)]

    def step():
        for o in held:
            learn(o, w, v)

    return step, lambda: held.append(sgd(v, lr=0.02))


def in_default(w, v):
    def inner(o=sgd(w)):  # noqa: B008
        learn(o, w, v)

    return lambda: inner(), lambda: setattr(inner, "__defaults__", (sgd(w, v, lr=0.02),))


def module_in_namespace(w, v):
    held = SimpleNamespace(f=nn.Tanh())
    return lambda: w.data.sub_(held.f(v)), lambda: setattr(held, "f", nn.Sigmoid())


def rate_of_an_optimizer(w, v):
    o = sgd(w)
    return lambda: w.data.sub_(v * o.lr + o.param_groups[0]["lr"]), lambda: setattr(o, "lr", 0.5)


def rate_of_a_schedule(w, v):
    o = sgd(w)
    schedule = optim.lr_scheduler.StepLR(o, 1, gamma=0.5)

    def change():
        o.step()
        schedule.step()

    return lambda: w.data.sub_(v * schedule.get_last_lr()[0] + schedule.last_epoch), change


def scaler_is_disabled(w, v):
    held = scaler(4.0)
    return lambda: w.data.sub_(held.scale(v.sum())), lambda: setattr(held, "enabled", False)


def sampler(w, v):
    held = mg.data.SequentialSampler(range(3))
    return lambda: w.data.sub_(v * len(held)), lambda: setattr(held, "data_source", range(9))


# name: (what a variable of a closure is bound to at first, and what then, and what is made of it)
REBOUND = {
    "optimizer": (lambda w, v: sgd(w), lambda w, v: sgd(w, v, lr=0.02), learn),
    "partial":
        (lambda w, v: functools.partial(learn, sgd(w), w, v),
         lambda w, v: functools.partial(learn, sgd(w, v, lr=0.02), w, v), lambda f, w, v: f()),
    "function": (lambda w, v: mg.exp, lambda w, v: mg.sin, lambda f, w, v: w.data.sub_(f(v))),
    "none": (lambda w, v: None, lambda w, v: nn.Tanh(), lambda f, w, v: w.data.sub_(v if f is None else f(v))),
    "tensor": (lambda w, v: mg.ones(2), lambda w, v: mg.full((2,), 4.0), lambda t, w, v: w.data.sub_(v * t)),
    "scaler": (lambda w, v: scaler(4.0), lambda w, v: scaler(8.0), lambda a, w, v: w.data.sub_(a.scale(v.sum()))),
    "generator": (lambda w, v: seeded(1), lambda w, v: seeded(7), lambda a, w, v: w.data.sub_(mg.rand(2, generator=a))),
}  # fmt: skip


def scaler(scale):
    return mg.amp.GradScaler(init_scale=scale)


def seeded(n):
    return mg.Generator().manual_seed(n)


def rebound(name, is_called):
    """The program of a row: the traced function reads the variable, or calls a function that does."""
    first, then, read = REBOUND[name]

    def program(w, v):
        bound = first(w, v)

        def inner():
            read(bound, w, v)

        def change():
            nonlocal bound
            bound = then(w, v)

        return (lambda: inner()) if is_called else inner, change

    return program


PROGRAMS = [add_group, add_group_to_adam, drop_group, append_parameter, replace_groups, zero_only, bound_globally]
PROGRAMS += [attribute_of_self, attribute, number_of_an_object, in_dictionary, in_list, in_default, module_in_namespace]
PROGRAMS += [rate_of_an_optimizer, rate_of_a_schedule, scaler_is_disabled, sampler]
PROGRAMS += [pytest.param(rebound(name, called), id=f"{name}, {called}") for name in REBOUND for called in (0, 1)]


@table("program", PROGRAMS)
@pytest.mark.parametrize("autograph", [True, False])
def test_what_a_name_leads_to_changes(autograph, program):
    results = []
    for way in (functools.partial(mg.function, autograph=autograph), lambda f: f):
        w, v = parameters()
        step, change = program(w, v)
        f = way(step)
        f(), f(), change(), f(), f()
        results.append([w.detach().numpy(), v.detach().numpy()])
    np.testing.assert_allclose(*results)


@table("program", PROGRAMS)
def test_names_that_stay_bound_are_no_reason_to_trace_again(program):
    step, _ = program(*parameters())
    f = mg.function(step)
    for _ in range(4):
        f()
    assert f.trace_count <= 2  # with a .grad, and without


class Config:
    def __init__(self, a):
        self.a = a


class Slim:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


@table("kind", [Config, Slim])
@table("a, b", [(nn.Tanh(), nn.Sigmoid()), (2.0, 3.0)])
@pytest.mark.parametrize("is_freed", [True, False])
def test_a_name_is_bound_to_another_object(kind, a, b, is_freed):
    """A new object at the address of the old one was taken for it; and a number in another object was not read."""
    config = kind(a)
    f = mg.function(lambda x: config.a(x) if callable(config.a) else x * config.a)
    f(X)
    if is_freed:
        config = None
    config = kind(b)
    np.testing.assert_array_equal(f(X).numpy(), (b(X) if callable(b) else X * b).numpy())
    f(X)
    assert f.trace_count == 2


def test_what_an_untraced_method_counts_is_no_reason_to_trace_again():
    t = Trainer(*parameters())
    f = mg.function(t.step)
    for i in range(5):
        f()
        t.steps, t.last_batch, t.losses = i, np.ones(i + 1), [i]
    assert f.trace_count <= 2


def test_a_traced_method_keeps_nothing_alive():
    import gc
    import weakref

    class Scaled:
        def __init__(self):
            self.w = mg.ones(2)

        @mg.function
        def by(self, x):
            return x * self.w

    x = Scaled()
    x.by(X)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
