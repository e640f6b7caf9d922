"""What is done to a module after it was traced is seen by the next call: results are those of a twin, run eagerly."""

from functools import partial
from types import MethodType, SimpleNamespace

import numpy as np
import pytest

import minigrad as mg

nn = mg.nn
X = np.random.default_rng(5).normal(size=(4, 3))


class Scale(nn.Module):
    factor = 1.5

    def __init__(self):
        self.by = 2.0
        self.offset = mg.tensor([0.1, 0.2, 0.3])

    def forward(self, x):
        return x * self.by * self.factor + self.offset


class Gain:
    """No module: an object that a module holds."""

    def __init__(self):
        self.by, self.steps, self.inner = 1.25, [0.5, 0.25], SimpleNamespace(by=1.5)


class Net(nn.Module):
    """Reads an attribute of each kind."""

    def __init__(self):
        self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), Scale())
        self.norm, self.drop = nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.rows = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])
        self.named = nn.ModuleDict({"tanh": nn.Tanh(), "scale": Scale()})
        self.gains = nn.ParameterList([mg.ones(3, dtype=float), mg.ones(3, dtype=float)])
        self.register_buffer("shift", mg.tensor([1.0, 2.0, 3.0]))
        self.flag, self.power, self.word, self.nothing = True, 2, "sin", None
        self.plain, self.parts = mg.tensor([1.0, 0.5, 2.0]), [nn.Tanh(), Scale()]
        self.numbers, self.options, self.pair = [1.0, 2.0], {"by": 3.0, "deep": {"at": [1.0]}}, (1.0, [2.0])
        self.array, self.some, self.gain, self.f = np.array([1.0, 2.0, 3.0]), {1, 2}, Gain(), mg.tanh
        self.row = self.shift[0:1]
        self.double()

    @property
    def total(self):
        return sum(self.numbers)

    def helper(self, x):
        return x * 0.5

    def forward(self, x):
        x = self.norm(self.body(x)) if self.flag else self.body(x)
        x = self.drop(x)
        for part in (*self.rows, *self.named.values(), *self.parts):
            x = part(x)
        for gain in self.gains:
            x = x * gain
        x = x**self.power + self.shift + self.plain + self.total + len(self.some) + self.row
        x = x + self.options["by"] + self.options["deep"]["at"][0] + self.pair[1][0]
        x = x * mg.tensor(self.array) * self.gain.by * sum(self.gain.steps) * self.gain.inner.by
        if hasattr(self, "lora"):
            x = x + self.lora(x)
        if getattr(self, "cache", None) is not None:
            x = x + self.cache
        x = x if self.nothing is None else x * self.nothing
        return self.helper(self.f(getattr(mg, self.word)(x)))


def linear(seed=3):
    mg.manual_seed(seed)
    return nn.Linear(3, 3).double()


def do(**values):
    """Assign to attributes."""

    def change(m):
        for name, value in values.items():
            setattr(m, name, value() if callable(value) and getattr(value, "__name__", "") == "<lambda>" else value)

    return change


def hook_and_remove(m):
    m.body.register_forward_hook(lambda _, xs, y: y * 2).remove()
    m.body[0].register_forward_hook(lambda _, xs, y: y * 3)


def forward_of(m):
    m.body[2].forward = MethodType(lambda self, x: x * self.by * 7, m.body[2])


def delete_class_attribute(m):
    m.body[2].factor = 5.0


def state_of_another(m):
    m.load_state_dict({name: x * 1.5 for name, x in m.state_dict().items()})


def pruned(m):
    nn.utils.prune.l1_unstructured(m.body[0], "weight", 4)


def unpruned(m):
    pruned(m)
    nn.utils.prune.remove(m.body[0], "weight")


def shared(m):
    m.rows[0].weight = m.body[0].weight


def swapped(m):
    m.body[0], m.body[2] = m.body[2], m.body[0]


# What is done → the functions that do it, with a call before, between and after.
CHANGES = {
    "another module in a Sequential": lambda m: m.body.__setitem__(1, nn.Tanh()),
    "the module at a negative index": lambda m: m.body.__setitem__(-1, nn.Tanh()),
    "append": lambda m: m.body.append(nn.Sigmoid()),
    "insert": lambda m: m.body.insert(1, linear()),
    "extend": lambda m: m.body.extend([nn.Sigmoid(), linear()]),
    "delete": lambda m: m.body.__delitem__(1),
    "pop": lambda m: m.body.pop(1),
    "delete a slice": lambda m: m.body.__delitem__(slice(0, 2)),
    "swap two parts": swapped,
    "ModuleList: another": lambda m: m.rows.__setitem__(1, nn.Sigmoid()),
    "ModuleList: append": lambda m: m.rows.append(nn.Sigmoid()),
    "ModuleList: delete": lambda m: m.rows.__delitem__(0),
    "ModuleDict: another": lambda m: m.named.__setitem__("tanh", nn.Sigmoid()),
    "ModuleDict: one more": lambda m: m.named.update(more=linear()),
    "ModuleDict: delete": lambda m: m.named.pop("scale"),
    "ParameterList: another": lambda m: m.gains.__setitem__(0, mg.tensor([2.0, 3.0, 4.0])),
    "ParameterList: append": lambda m: m.gains.append(mg.tensor([2.0, 3.0, 4.0])),
    "a forward hook": lambda m: m.body.register_forward_hook(lambda _, xs, y: y * 2),
    "a pre-hook": lambda m: m.norm.register_forward_pre_hook(lambda _, xs: (xs[0] * 2,)),
    "a hook, and another is removed": hook_and_remove,
    "a part that was not there": lambda m: setattr(m, "lora", linear()),
    "a part that was not there, by register_module": lambda m: m.register_module("lora", linear()),
    "a part is replaced": do(norm=lambda: nn.LayerNorm(3).double()),
    "a part within a part": lambda m: setattr(m.named["scale"], "offset", mg.tensor([9.0, 8.0, 7.0])),
    "a tensor that was not there": do(cache=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a tensor that was None": do(nothing=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a plain tensor": do(plain=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a plain tensor, in place": lambda m: m.plain.mul_(3),
    "a buffer": do(shift=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a buffer, in place": lambda m: m.shift.copy_(mg.tensor([5.0, 6.0, 7.0])),
    "a view of a buffer": lambda m: setattr(m, "row", m.shift[1:2]),
    "a parameter": lambda m: setattr(m.body[0], "weight", nn.Parameter(mg.ones(3, 3, dtype=float))),
    "a parameter becomes None": lambda m: setattr(m.body[0], "bias", None),
    "a shared parameter": shared,
    "load_state_dict": state_of_another,
    "eps": lambda m: setattr(m.norm, "eps", 0.5),
    "momentum": lambda m: setattr(m.norm, "momentum", 0.9),
    "no affine": lambda m: setattr(m.norm, "weight", None),
    "the share that is dropped": lambda m: setattr(m.drop, "p", 0.0),
    "eval": lambda m: m.eval(),
    "eval of a part": lambda m: m.norm.eval(),
    "a flag": do(flag=False),
    "a number": do(power=3),
    "an int becomes a float": do(power=3.0),
    "a text": do(word="cos"),
    "a function": do(f=mg.sigmoid),
    "a lambda": lambda m: setattr(m, "f", lambda x: x * 3),
    "a list, in place": lambda m: m.numbers.append(5.0),
    "an item of a list": lambda m: m.numbers.__setitem__(0, 7.0),
    "a list is replaced": do(numbers=[9.0]),
    "a dictionary, in place": lambda m: m.options.update(by=9.0),
    "a list in a dictionary in a dictionary": lambda m: m.options["deep"]["at"].__setitem__(0, 9.0),
    "a list in a tuple": lambda m: m.pair[1].__setitem__(0, 9.0),
    "a set, in place": lambda m: m.some.add(3),
    "an array, in place": lambda m: m.array.__setitem__(0, 9.0),
    "an array is replaced": do(array=np.array([3.0, 2.0, 1.0])),
    "an attribute of an object": lambda m: setattr(m.gain, "by", 9.0),
    "a list of an object": lambda m: m.gain.steps.append(9.0),
    "an attribute of an object of an object": lambda m: setattr(m.gain.inner, "by", 9.0),
    "a module in a plain list": lambda m: m.parts.__setitem__(0, nn.Sigmoid()),
    "an option of a module in a plain list": lambda m: setattr(m.parts[1], "by", 9.0),
    "an attribute over one of the class": lambda m: setattr(m.body[2], "factor", 5.0),
    "forward of an instance": forward_of,
    "a method of an instance": lambda m: setattr(m, "helper", lambda x: x * 9),
    "a pruned parameter": pruned,
    "a parameter pruned, and not": unpruned,
    "another dtype": lambda m: m.gains.float(),
}
# How the module is called: `trace` is mg.function, or gives the function back for the twin.
CALLS = {
    "function": (mg.function, lambda trace, m: trace(m)),
    "jit": (mg.jit, lambda trace, m: trace(m)),
    "jit_compile": (lambda f: mg.function(f, jit_compile=True), lambda trace, m: trace(m)),
    "closure": (mg.function, lambda trace, m: trace(lambda x: m(x) * 2)),
    "method": (mg.function, lambda trace, m: trace(m.forward)),
    "inside another": (mg.function, lambda trace, m: trace(nn.Sequential(nn.Identity(), m))),
    "argument": (mg.function, lambda trace, m: partial(trace(lambda m, x: m(x)), m)),
    "without autograph": (lambda f: mg.function(f, autograph=False), lambda trace, m: trace(m)),
}


def twins(make=Net):
    pair = []
    for _ in range(2):
        mg.manual_seed(1)
        pair.append(make())
    return pair


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-9, 1e-9)


def compare(call, make, changes, x):
    ours, theirs = twins(make)
    trace, called = CALLS[call]
    traced, eager = called(trace, ours), called(lambda f: f, theirs)

    def both():
        for _ in range(2):
            mg.manual_seed(2)
            found = traced(x)
            mg.manual_seed(2)
            close(found, eager(x))
            assert ours.state_dict().keys() == theirs.state_dict().keys()
            for a, b in zip(ours.state_dict().values(), theirs.state_dict().values()):
                close(a, b)

    both()
    for change in changes:
        for module in (ours, theirs):
            mg.manual_seed(4)
            change(module)
        both()


@pytest.mark.share(4)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_module_after_it_was_traced_is_seen(change, call):
    compare(call, Net, [CHANGES[change]], mg.tensor(X))
