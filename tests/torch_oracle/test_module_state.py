"""What a module holds, beside PyTorch: load_state_dict(assign=True), ParameterDict, and lists that are added up."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg

from .oracle import array, torch

pytestmark = pytest.mark.usefixtures("doubles")


def tied(library):
    """Two layers with one weight, and buffers behind them."""

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = (library.nn.Linear(2, 2, bias=False) for _ in range(2))
            self.b.weight = self.a.weight
            self.norm = library.nn.BatchNorm1d(2)

        def forward(self, x):
            return self.norm(self.b(self.a(x)))

    return Net()


def state_for(library, net, dtype="f8", weight=2.0):
    state = {name: array(x) for name, x in net.state_dict().items()}
    state = {name: x.astype(dtype) if x.dtype.kind == "f" else x for name, x in state.items()}
    tensors = {name: library.tensor(x) for name, x in state.items()}
    tensors["a.weight"] = tensors["b.weight"] = library.tensor(np.full((2, 2), weight, dtype))
    return tensors


def test_a_state_that_is_assigned_is_held_itself_in_its_dtype():
    facts = []
    for library in (mg, torch):
        net = tied(library)
        before, net.norm.weight.requires_grad = net.a.weight, False
        state = state_for(library, net, "f4")
        result = net.load_state_dict(state, assign=True)
        with library.no_grad():
            state["a.weight"][0, 0] = 7.0
        facts.append((
            [*result], net.a.weight is before, isinstance(net.a.weight, library.nn.Parameter),
            net.norm.running_mean is state["norm.running_mean"],
            array(net.a.weight).tolist(), array(net.b.weight).tolist(),
            {name: array(x).dtype for name, x in net.state_dict().items()},
            {name: p.requires_grad for name, p in net.named_parameters(remove_duplicate=False)},
        ))  # fmt: skip
    assert facts[0] == facts[1]


def test_an_assigned_state_trains_as_in_pytorch_and_keeps_what_is_tied():
    """In PyTorch the names of one tensor get parameters that share its memory; SGD moves both. Here they stay one."""
    ends, x = [], np.random.default_rng(0).normal(size=(5, 2))
    for library in (mg, torch):
        net = tied(library)
        net.load_state_dict(state_for(library, net, weight=0.5), assign=True)
        optimizer = library.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (net(library.tensor(x)) ** 3).sum().backward()
            optimizer.step()
        ends.append({name: array(x) for name, x in net.state_dict().items()})
        assert (net.a.weight is net.b.weight) == (library is mg)
    for name, value in ends[1].items():
        np.testing.assert_allclose(ends[0][name], value, rtol=1e-10)

    net = tied(mg)
    net.load_state_dict(state_for(mg, net) | {"b.weight": mg.zeros(2, 2)}, assign=True)
    assert array(net.a.weight).tolist() != array(net.b.weight).tolist()


@pytest.mark.parametrize(
    "change", [{"a.weight": np.ones((3, 3))}, {"norm.weight": np.array([1, 2])}, {"strange": np.ones(2)}]
)
def test_a_state_that_does_not_fit_is_refused_and_nothing_is_assigned(change):
    net = tied(mg)
    before = dict(net.named_parameters())
    with pytest.raises((mg.errors.StateError, mg.errors.DTypeError)):
        net.load_state_dict(state_for(mg, net) | {name: mg.tensor(x) for name, x in change.items()}, assign=True)
    assert all(p is before[name] for name, p in net.named_parameters())


def test_a_traced_module_reads_what_is_assigned():
    net = tied(mg)
    net.eval()
    traced, x = mg.function(net), mg.tensor([[1.0, 2.0]])
    traced(x)
    net.load_state_dict(state_for(mg, net, weight=3.0), assign=True)
    np.testing.assert_allclose(array(traced(x)), array(net(x)))


def words(library):
    """What a ParameterDict answers, one after the other."""

    def t(*numbers):
        return library.tensor(np.array(numbers, dtype="f8"))

    named = library.nn.ParameterDict({"b": t(1, 2), "a": t(3)})
    yield [*named]
    named["c"], named["b"], named["f"] = t(4, 5), t(9, 9), 2.5
    yield (
        [*named], [*named.state_dict()], [n for n, _ in named.named_parameters()], len(named), "a" in named,
        "z" in named,
    )  # fmt: skip
    yield [type(value).__name__ for value in named.values()], named.get("q", 7), [*reversed(named)], named["f"]
    yield named.popitem(), named.pop("a").tolist(), [*named.keys()]
    yield [*named.copy()], named.copy()["b"] is named["b"], [*named | {"y": t(1), "x": t(2)}]
    named |= {"k": t(0)}
    yield (
        [*named],
        [*named.fromkeys(["u", "v"], t(1))],
        named.setdefault("b").tolist(),
        named.setdefault("n", t(8)).tolist(),
    )
    del named["n"]
    named.update([("z", t(1)), ("e", t(2))])
    yield [*named]
    twin = copy.deepcopy(named)
    yield [*twin], twin["b"] is named["b"], [*pickle.loads(pickle.dumps(named))]
    named.clear()
    yield len(named), [*named.parameters()]
    for mistake in ([("x.y", t(1))], [(1, t(1))]):
        with pytest.raises((KeyError, TypeError)):
            library.nn.ParameterDict(mistake)

    row = library.nn.ParameterList([t(1, 2), 3.0])
    row += [t(1)]
    row[0] = t(5, 5)
    yield [*row.state_dict()], row[1], len(row), row[0].tolist()

    net = library.nn.Sequential(library.nn.Linear(1, 1), library.nn.ReLU())
    yield [*(net * 2).state_dict()], (net * 2)[0] is net[0], len(2 * net), len(net + net * 3)
    net *= 3
    yield len(net), len(library.nn.ModuleList([net]) + library.nn.ModuleList([net, net]))


def test_containers_of_parameters_answer_as_pytorchs():
    """nn.ParameterDict was not there, nor sums and multiples of lists of modules; a number became a parameter."""
    for ours, theirs in zip(words(mg), words(torch), strict=True):
        assert ours == theirs
    assert repr(mg.nn.ParameterDict({"b": mg.ones(2), "a": 3.0})) == "ParameterDict((a): 3.0, (b): Parameter f64[2])"


def test_a_traced_function_follows_a_parameter_dict():
    named = mg.nn.ParameterDict({"a": mg.tensor([2.0])})

    def product(x):
        for name in named:
            x = x * named[name]
        return x

    traced, x = mg.function(product), mg.tensor([1.0])
    assert traced(x).item() == 2
    named["b"] = mg.tensor([5.0])
    assert traced(x).item() == 10
    del named["a"]
    assert traced(x).item() == 5
