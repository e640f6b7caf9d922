"""Exported programs, graphs of torch.fx, and the graphs that torch.compile makes, compared with PyTorch's own."""

from functools import partial

import pytest

from minigrad.course.widgets import GraphView

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
from torch import nn  # noqa: E402

from tests.support.listings import entries_of  # noqa: E402
from tests.support.torch_models import Residual, Tied  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
EAGER = partial(torch.compile, backend="eager")


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        h = self.layer(x) + self.layer(x)
        return torch.cond(h.sum() > 0, lambda h: h.sin(), lambda h: h * 2, (h,))


EXAMPLES = [
    (Residual(), torch.ones(2, 3, 4, 4)), (Tied(), torch.zeros(5, 2, dtype=torch.int64)), (Branch(), torch.ones(2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("model", "x"), EXAMPLES)
def test_the_nodes_of_an_exported_program_are_all_there(model, x):
    program = torch.export.export(model, (x,))
    entries = entries_of(program)
    graphs = [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    calls = [node for graph in graphs for node in graph.graph.nodes if node.op == "call_function"]

    assert len(entries) == len(inputs) + len(calls)
    assert {entry.name for entry in entries} >= {*program.graph_signature.inputs_to_parameters.values()}
    if len(graphs) == 1:  # else arrows lead into branches, too
        assert sum(len(entry.inputs) for entry in entries) == sum(len(node.all_input_nodes) for node in calls)


def test_branches_are_groups_and_calls_of_a_module_are_apart():
    batch = torch.export.Dim("batch")
    view = GraphView(torch.export.export(Branch(), (torch.ones(2, 3),), dynamic_shapes=({0: batch},)))
    entries = view.overview.listing.entries

    assert [group.label for group in view.groups] == ["layer", "layer", "true_graph_0", "false_graph_0"]
    assert " ".join(e.sign for e in entries if e.kind == "op") == "linear linear + sum > sin × cond [ ]"
    assert entries[0].nbytes is None, f"the length in {entries[0].spec} is known when it runs"
    assert entries[3].line.endswith("in forward: h = self.layer(x) + self.layer(x)")


def test_modules_that_torch_fx_does_not_open_are_nodes():
    traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())))

    lines = ["input_1, a leaf", "Linear → 0", "1: Sequential · ReLU", "  ReLU → 1.0"]
    assert GraphView(traced).text.splitlines() == lines
    assert GraphView(traced, torch.ones(1, 2)).text.splitlines()[-1].strip().startswith("relu, f32[1, 2]")


def broken(x):
    h = x.sin()
    if h.sum() > 0:
        h = h + 1
    print("now")
    return (h * 2).cos()


def test_graph_breaks_of_torch_compile_are_named_with_their_lines(capsys):
    x = torch.ones(3)
    explained = torch._dynamo.explain(broken)(x)
    view = GraphView(torch.compile(broken, backend="eager"), x, names={})
    scopes = [group.label for group in view.groups]

    assert scopes == [f"graph {i + 1}" for i in range(explained.graph_count)]
    assert [e.sign for e in view.overview.listing.entries] == ["", "sin", "sum", ">", "+", "×", "cos"]
    assert view.notes[0] == "torch.compile made 3 graphs of broken, with 2 graph breaks."
    assert "in broken: if h.sum() > 0: – Python branches on a tensor." in view.notes[1]
    assert 'in broken: print("now") – Failed to trace builtin operator.' in view.notes[2]
    assert view.overview.listing.entries[4].inputs == (1,), "graphs pass tensors on"


def test_an_if_after_a_graph_break_names_the_function_of_the_user(capsys):
    """PyTorch's name for it was shown, torch_dynamo_resume_in_late_at_9."""

    def late(x):
        print("first")
        if x.sum() > 0:
            return x.sin()
        return x

    notes = GraphView(torch.compile(late, backend="eager"), torch.ones(3), names={}).notes
    assert "in late: if x.sum() > 0:" in notes[2]


def test_a_function_that_torch_compile_gives_up_has_the_reason():
    """There were no graphs and no breaks, and no word about why."""

    class Speaker(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(2, 3)

        def forward(self, x):
            return self.lstm(x)[0]

    for _ in range(2):
        notes = GraphView(torch.compile(Speaker(), backend="eager"), torch.ones(1, 2)).notes
        assert notes[0] == "torch.compile made 0 graphs of Speaker, with 0 graph breaks."
        assert notes[1].startswith("torch.compile gave up: ")
        assert "LSTM" in notes[1]


@pytest.mark.parametrize("wrap", [EAGER, lambda model: model.compile(backend="eager") or model])
def test_a_compiled_module_has_one_graph_with_its_modules(wrap):
    view = GraphView(wrap(Branch()), torch.ones(2, 3))

    assert view.notes == ["torch.compile made 1 graph of Branch, with 0 graph breaks."]
    assert [group.label for group in view.groups][:3] == ["graph 1", "layer", "layer"]


def test_what_the_user_compiled_stays_compiled():
    compiled = []
    f = torch.compile(lambda x: x.sin(), backend=lambda module, xs: compiled.append(1) or module.forward)
    x = torch.ones(2)
    f(x)
    for _ in range(10):
        assert len(entries_of(f, x)) == 2
    f(x)

    assert compiled == [1]


def test_scopes_are_named_after_modules_only():
    class Net(nn.Module):
        def __init__(me):
            super().__init__()
            me.layer = nn.Linear(2, 2)

        def forward(me, x):
            return me.layer(x).reshape(x.shape[0], -1)

    program = torch.export.export(Net(), (torch.ones(3, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
    views = GraphView(program), GraphView(torch.compile(Net(), backend="eager"), torch.ones(3, 2))

    assert [[group.label for group in view.groups] for view in views] == [["layer"], ["graph 1", "me.layer"]]
