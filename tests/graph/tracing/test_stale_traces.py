"""A traced function notices what changes after its trace: each program gives what its untraced twin gives."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

nn, optim = mg.nn, mg.optim
X = mg.tensor([1.0, 2.0])
# ruff: noqa: PLW0108  (`lambda: f()` looks f up at each call)
pytestmark = pytest.mark.filterwarnings("ignore::minigrad.graph.function.RetracingWarning")


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
    assert "config has another value" in f.explain()


def test_what_an_untraced_method_counts_is_no_reason_to_trace_again():
    t = Trainer(*parameters())
    f = mg.function(t.step)
    for i in range(5):
        f()
        t.steps, t.last_batch, t.losses = i, np.ones(i + 1), [i]
    assert f.trace_count <= 2
