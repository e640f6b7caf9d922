"""Which module is being called: followed in graphs that are built, and in eager code where somebody asks."""

import pytest

import minigrad as mg
from minigrad.engine.core.calls import following, module_path
from minigrad.engine.core.modes import current


class Block(mg.nn.Module):
    def __init__(self):
        self.fc = mg.nn.Linear(3, 3)

    def forward(self, x):
        self.seen = module_path()
        return self.fc(x).relu()


class Net(mg.nn.Module):
    def __init__(self):
        self.blocks = mg.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.sum()


def test_a_path_goes_from_the_outermost_call_to_the_innermost():
    net = Net()

    with following():
        net(mg.ones(2, 3))

    assert [block.seen for block in net.blocks] == ["Net.blocks.0", "Net.blocks.1"]
    assert module_path() == ""


def test_nobody_follows_eager_calls_unless_asked():
    net = Net()

    net(mg.ones(2, 3))

    assert [block.seen for block in net.blocks] == ["", ""]
    assert current.mode.calls is None


def test_a_module_that_no_caller_holds_is_known_by_its_class():
    other = Block()

    class Caller(mg.nn.Module):
        def forward(self, x):
            return other(x)

    with following():
        Caller()(mg.ones(2, 3))

    assert other.seen == "Block"


def test_an_error_ends_the_call():
    with following():
        with pytest.raises(mg.errors.ShapeError):
            Net()(mg.ones(2, 4))
        assert module_path() == ""


@pytest.mark.parametrize("traced", [mg.function, mg.jit])
def test_nodes_of_a_trace_know_their_module(traced):
    graph = traced(Net()).graph_for(mg.ones(2, 3))

    modules = [n.place.module for n in graph.nodes if n.inputs and n.place]

    assert modules == ["Net.blocks.0.fc", "Net.blocks.0", "Net.blocks.1.fc", "Net.blocks.1", "Net"]


def test_a_function_that_calls_a_module_names_it():
    net = Net()

    graph = mg.function(lambda x: 2 * net(x)).graph_for(mg.ones(2, 3))

    assert [n.place.module for n in graph.nodes if n.inputs][-2:] == ["Net", ""]
