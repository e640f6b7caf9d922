"""Changes of a module after it was traced are seen by the next call: a twin, run eagerly, gives the same results."""

import gc
from functools import partial
from types import MethodType, SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError, StateError
from minigrad.engine.base.pytree import leaves, paths
from tests.support.table import table

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
    """A plain object that a module holds."""

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
        self.row, self.extra = self.shift[0:1], None
        self.hook = self.rows[0].register_forward_hook(lambda _, xs, y: y * 0.9)
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
        x = x if self.extra is None else self.extra(x)
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


def state_of_another(m):
    m.load_state_dict({name: x * 1.5 for name, x in m.state_dict().items()})


def prune(m):
    nn.utils.prune.l1_unstructured(m.body[0], "weight", 4)


def unprune(m):
    prune(m)
    nn.utils.prune.remove(m.body[0], "weight")


def share_weights(m):
    m.rows[0].weight = m.body[0].weight


def hide_a_part(m):
    """pytorch/pytorch#197859: the trace went on with the part, which Python no longer saw."""
    m.extra = nn.Tanh()
    object.__setattr__(m, "extra", nn.Sigmoid())


def swap_parts(m):
    m.body[0], m.body[2] = m.body[2], m.body[0]


# The change → the functions that make it, with a call before, between and after.
CHANGES = {
    "another module in a Sequential": lambda m: m.body.__setitem__(1, nn.Tanh()),
    "the module at a negative index": lambda m: m.body.__setitem__(-1, nn.Tanh()),
    "append": lambda m: m.body.append(nn.Sigmoid()), "insert": lambda m: m.body.insert(1, linear()),
    "extend": lambda m: m.body.extend([nn.Sigmoid(), linear()]), "delete": lambda m: m.body.__delitem__(1),
    "pop": lambda m: m.body.pop(1), "delete a slice": lambda m: m.body.__delitem__(slice(0, 2)),
    "swap two parts": swap_parts, "ModuleList: another": lambda m: m.rows.__setitem__(1, nn.Sigmoid()),
    "ModuleList: append": lambda m: m.rows.append(nn.Sigmoid()), "ModuleList: delete": lambda m: m.rows.__delitem__(0),
    "ModuleDict: another": lambda m: m.named.__setitem__("tanh", nn.Sigmoid()),
    "ModuleDict: one more": lambda m: m.named.update(more=linear()),
    "ModuleDict: delete": lambda m: m.named.pop("scale"),
    "ParameterList: another": lambda m: m.gains.__setitem__(0, mg.tensor([2.0, 3.0, 4.0])),
    "ParameterList: append": lambda m: m.gains.append(mg.tensor([2.0, 3.0, 4.0])),
    "a forward hook": lambda m: m.body.register_forward_hook(lambda _, xs, y: y * 2),
    "a pre-hook": lambda m: m.norm.register_forward_pre_hook(lambda _, xs: (xs[0] * 2,)),
    "a hook, and another is removed": hook_and_remove, "a hook is removed": lambda m: m.hook.remove(),
    # pytorch/pytorch#98928, 120958 and 124717: a flag and a part that came after the trace were not seen.
    "a part that was None": do(extra=nn.Tanh()), "a part that an attribute hides": hide_a_part,
    "a part that was not there": lambda m: setattr(m, "lora", linear()),
    "a part that was not there, by register_module": lambda m: m.register_module("lora", linear()),
    "a part is replaced": do(norm=lambda: nn.LayerNorm(3).double()),
    "a part within a part": lambda m: setattr(m.named["scale"], "offset", mg.tensor([9.0, 8.0, 7.0])),
    "a tensor that was not there": do(cache=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a tensor that was None": do(nothing=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a plain tensor": do(plain=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a plain tensor, in place": lambda m: m.plain.mul_(3), "a buffer": do(shift=lambda: mg.tensor([5.0, 6.0, 7.0])),
    "a buffer, in place": lambda m: m.shift.copy_(mg.tensor([5.0, 6.0, 7.0])),
    "a view of a buffer": lambda m: setattr(m, "row", m.shift[1:2]),
    "a parameter": lambda m: setattr(m.body[0], "weight", nn.Parameter(mg.ones(3, 3, dtype=float))),
    "a parameter becomes None": lambda m: setattr(m.body[0], "bias", None), "a share_weights parameter": share_weights,
    "load_state_dict": state_of_another, "eps": lambda m: setattr(m.norm, "eps", 0.5),
    "momentum": lambda m: setattr(m.norm, "momentum", 0.9), "no affine": lambda m: setattr(m.norm, "weight", None),
    "the share that is dropped": lambda m: setattr(m.drop, "p", 0.0), "eval": lambda m: m.eval(),
    "eval of a part": lambda m: m.norm.eval(), "a flag": do(flag=False), "a number": do(power=3),
    "an int becomes a float": do(power=3.0), "a text": do(word="cos"), "a function": do(f=mg.sigmoid),
    "a lambda": lambda m: setattr(m, "f", lambda x: x * 3), "a list, in place": lambda m: m.numbers.append(5.0),
    "an item of a list": lambda m: m.numbers.__setitem__(0, 7.0), "a list is replaced": do(numbers=[9.0]),
    "a dictionary, in place": lambda m: m.options.update(by=9.0),
    "a list in a dictionary in a dictionary": lambda m: m.options["deep"]["at"].__setitem__(0, 9.0),
    "a list in a tuple": lambda m: m.pair[1].__setitem__(0, 9.0), "a set, in place": lambda m: m.some.add(3),
    "an array, in place": lambda m: m.array.__setitem__(0, 9.0),
    "an array is replaced": do(array=np.array([3.0, 2.0, 1.0])),
    "an attribute of an object": lambda m: setattr(m.gain, "by", 9.0),
    "a list of an object": lambda m: m.gain.steps.append(9.0),
    "an attribute of an object of an object": lambda m: setattr(m.gain.inner, "by", 9.0),
    "a module in a plain list": lambda m: m.parts.__setitem__(0, nn.Sigmoid()),
    "an option of a module in a plain list": lambda m: setattr(m.parts[1], "by", 9.0),
    "an attribute over one of the class": lambda m: setattr(m.body[2], "factor", 5.0),
    "another class": lambda m: setattr(m.parts[0], "__class__", nn.Sigmoid),
    "forward of an instance": forward_of, "a method of an instance": lambda m: setattr(m, "helper", lambda x: x * 9),
    "a prune parameter": prune, "a parameter prune, and not": unprune, "another dtype": lambda m: m.gains.float(),
}  # fmt: skip
# How the module is called: `trace` is mg.function, or gives the function back for the twin.
CALLS = {
    "function": (mg.function, lambda trace, m: trace(m)), "jit": (mg.jit, lambda trace, m: trace(m)),
    "jit_compile": (lambda f: mg.function(f, jit_compile=True), lambda trace, m: trace(m)),
    "native": (lambda f: mg.function(f, jit_compile="native"), lambda trace, m: trace(m)),
    "closure": (mg.function, lambda trace, m: trace(lambda x: m(x) * 2)),
    "method": (mg.function, lambda trace, m: trace(m.forward)),
    "inside another": (mg.function, lambda trace, m: trace(nn.Sequential(nn.Identity(), m))),
    "argument": (mg.function, lambda trace, m: partial(trace(lambda m, x: m(x)), m)),
    "without autograph": (lambda f: mg.function(f, autograph=False), lambda trace, m: trace(m)),
}  # fmt: skip


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


@pytest.mark.share(16)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_module_after_it_was_traced_is_seen(change, call):
    compare(call, Net, [CHANGES[change]], mg.tensor(X))


# -- state: what a forward pass assigns ---------------------------------------------------------------


def recurrent(m, x):
    m.h = (m.h + x).tanh()
    return m.h * 2


def moving_mean(m, x):
    m.mean = m.mean * 0.9 + x.mean(0) * 0.1
    return x - m.mean


def pair(m, x):
    h, c = m.pair if m.pair is not None else (x * 0, x * 0)
    m.pair = (h + c).tanh(), c + x
    return m.pair[0] * 1


def previous(m, x):
    m.before, m.h = m.h, m.h + x
    return m.before * 2 + m.h


def handed_out(m, x):
    old, m.h = m.h, x * 3
    return old


def noted(m, x):
    m.scores = x.softmax(-1)
    return m.scores * x


def growing(m, x):
    m.cache = {"rows": mg.cat([m.cache["rows"], x]) if m.cache else x}
    return m.cache["rows"].sum(0)


def row_by_row(m, x):
    m.current, m.i = m.table[m.i : m.i + 1], (m.i + 1) % 4
    return x + m.current


def written_row_by_row(m, x):
    """pytorch/pytorch#111785: the trace wrote into the row that it saw first."""
    m.table[m.i] = x[0]
    m.i = (m.i + 1) % 4
    return m.table * 1


def counting(m, x):
    m.i += 1
    return x * m.i


def first_time(m, x):
    if not m.ready:
        m.ready = True
        return x * 0
    return x


def made_when_needed(m, x):
    if not hasattr(m, "lazy"):
        m.lazy = nn.Linear(3, 3, rng=np.random.default_rng(0)).double()
    return m.lazy(x)


def scratch(m, x):
    m.scratch = x * 2
    y = m.scratch + 1
    del m.scratch
    return y


def swap(m, x):
    m.h, m.other = m.other, m.h
    return m.h * x


def detached(m, x):
    with mg.no_grad():
        m.h = m.h + x
    return m.h * x


def in_a_branch(m, x):
    if x.sum() > 0:
        m.h = m.h + x
    return m.h * 2


def in_a_loop(m, x):
    for _ in range(3):
        m.h = m.h + x
    return m.h * 2


def edited_then_assigned(m, x):
    m.h.add_(x)
    m.h = m.h * 2
    return m.h


def registered(m, x):
    m.register_buffer("center", x.mean(0))
    return x - m.center


def alias(m, x):
    m.h = m.h + x
    return m.h + m.same


FORWARDS = [recurrent, moving_mean, pair, previous, handed_out, noted, growing, row_by_row, counting, first_time]
FORWARDS += [made_when_needed, scratch, swap, detached, in_a_branch, in_a_loop, edited_then_assigned, registered, alias]
FORWARDS += [written_row_by_row]
STEADY = [recurrent, moving_mean, pair, previous, noted, swap, in_a_branch, in_a_loop]  # traced no more than twice


def holder(forward):
    class Holder(nn.Module):
        def __init__(self):
            self.h, self.other, self.pair, self.cache = mg.zeros(4, 3, dtype=float), mg.tensor(X), None, {}
            self.same, self.i, self.ready = self.h, 0, False
            self.register_buffer("mean", mg.zeros(3, dtype=float))
            self.register_buffer("table", mg.arange(12).reshape(4, 3).double())

    Holder.forward = forward
    return Holder


def attributes(module):
    state = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return {name: part for name, value in state.items() for name, part in zip(paths(value, name), leaves(value))}


@pytest.mark.filterwarnings("ignore::minigrad.graph.function.RetracingWarning")
@table("forward", FORWARDS)
@pytest.mark.parametrize("trace", [partial(mg.function, jit_compile=how) for how in (False, True, "native")])
def test_what_a_forward_pass_assigns_is_state(trace, forward):
    ours, theirs = twins(holder(forward))
    traced = trace(ours)
    for x in map(mg.tensor, (X, -X, X + 1, X * 2)):
        close(traced(x), theirs(x))
        mine, its = attributes(ours), attributes(theirs)
        assert mine.keys() == its.keys()
        for name, value in its.items():
            if isinstance(value, mg.Tensor):
                close(mine[name], value)
            elif not isinstance(value, nn.Module):
                assert mine[name] == value
    assert forward not in STEADY or traced.trace_count <= 2


def test_gradients_flow_through_state_from_call_to_call():
    ours, theirs = twins(holder(recurrent))
    grads = []
    for module, call in ((ours, mg.function(ours)), (theirs, theirs)):
        x = mg.tensor(X, requires_grad=True)
        for _ in range(3):
            y = call(x)
        y.sum().backward()
        grads.append(x.grad)
        assert module.h.requires_grad
    close(*grads)


def test_a_trace_that_was_not_run_leaves_a_module_as_it_was():
    module = holder(recurrent)()
    before = module.h
    mg.function(module).graph_for(mg.tensor(X))
    assert module.h is before


def test_storing_a_symbol_in_a_container_in_place_is_refused():
    def forward(m, x):
        m.cache["x"] = x
        return x

    with pytest.raises(GraphError, match=r"a tensor in cache of a Holder, a dict, in place.*assign a new dict"):
        mg.function(holder(forward)())(mg.tensor(X))


def test_a_parameter_that_is_assigned_a_result_is_refused():
    def forward(m, x):
        m.weight = m.weight * 2
        return x * m.weight

    module = holder(forward)()
    module.weight = nn.Parameter(mg.ones(3, dtype=float))
    with pytest.raises(TypeError, match=r"weight is a parameter.*change its values in place"):
        mg.function(module)(mg.tensor(X))


# -- changes that need no new trace, and explanations --------------------------------------------------


def test_training_traces_once():
    net, x = Net(), mg.tensor(X)
    optimizer = mg.optim.Adam(net.parameters(), lr=0.01)

    @mg.function
    def step(x):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    @mg.function
    def loss(x):
        return net(x).square().mean()

    for i in range(5):
        step(x)
        optimizer.zero_grad()
        loss(x).backward()
        optimizer.step()
        net.seen = net.steps = i  # no forward pass reads these
        nn.Linear(3, 3).eval().weight = nn.Parameter(mg.ones(3, 3))  # of another module

    assert step.trace_count <= 2  # with a .grad, and without
    assert loss.trace_count == 1


def test_a_layer_made_in_a_trace_is_no_reason_to_trace_again():
    f = mg.function(lambda x: nn.Dropout(0.5).eval()(x) + nn.Tanh()(x))
    for _ in range(3):
        f(mg.tensor(X))
    assert f.trace_count == 1


EXPLAINED = {
    "1 of a Sequential was a ReLU and is a Tanh": lambda m: m.body.__setitem__(1, nn.Tanh()),
    "3 of a Sequential was not there and is a Sigmoid": lambda m: m.body.append(nn.Sigmoid()),
    "weight of a Linear was a Parameter and is another": lambda m: setattr(m.body[0], "weight", linear().weight),
    "eps of a BatchNorm1d was 1e-05 and is 0.5": lambda m: setattr(m.norm, "eps", 0.5),
    "p of a Dropout was 0.5 and is 0.0": lambda m: setattr(m.drop, "p", 0.0),
    "training of a BatchNorm1d was True and is False": lambda m: m.norm.eval(),
    "lora of a Net was not there and is a Linear": lambda m: setattr(m, "lora", linear()),
    "numbers of a Net was a list and is another": lambda m: m.numbers.append(5.0),
    "plain of a Net was a Tensor and is another": lambda m: setattr(m, "plain", mg.ones(3, dtype=float)),
    "gain of a Net was a Gain and is another": lambda m: setattr(m.gain, "by", 2.0),
    "_hooks of a Sequential was a dict": lambda m: m.body.register_forward_hook(lambda *_: None),
}


@table("sentence", EXPLAINED)
def test_what_has_changed_is_explained(sentence):
    net = Net()
    f = mg.function(net)
    f(mg.tensor(X))
    EXPLAINED[sentence](net)
    gc.collect()  # a part that was replaced and freed is still named
    f(mg.tensor(X))
    assert sentence in " ".join(f.explain().split())


def test_a_function_with_state_is_not_saved_and_one_that_only_assigns_is(tmp_path):
    with_state, without = mg.function(holder(recurrent)()), mg.function(holder(noted)())
    for f in (with_state, without):
        f(mg.tensor(X))
    with pytest.raises(StateError, match=r"assigns h of a Holder, which its next run reads.*edit a buffer"):
        mg.save(tmp_path / "f.safetensors", with_state)
    mg.save(tmp_path / "f.safetensors", without)
    close(mg.load(tmp_path / "f.safetensors")(mg.tensor(X)), without(mg.tensor(X)))
