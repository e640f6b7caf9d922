"""The graph of autograd behind tensors of PyTorch, compared with PyTorch's own."""

import re

import pytest

import minigrad as mg
from minigrad.course.widgets import GraphView
from tests.support.listings import entries_of
from tests.support.table import table

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
from tests.support.torch_models import MODELS, Checkpointed  # noqa: E402


def results(name):
    torch.manual_seed(0)
    f, x = MODELS[name]()
    y = f(x)
    return y if isinstance(y, tuple) else (y,)


def facts(*ys, names=None):
    return [fact for entry in entries_of(*ys, names=names) for fact in entry.facts]


@table("name", MODELS)
def test_nodes_and_edges_are_those_of_autograd(name):
    ys = results(name)
    nodes, edges, stack = set(), 0, [y.grad_fn for y in ys]
    while stack:
        if (node := stack.pop()) not in nodes:
            nodes.add(node)
            before = [x for x, _ in node.next_functions if x is not None]
            edges, stack = edges + len(before), stack + before
    found = entries_of(*ys)

    assert len(found) == len(nodes)
    assert sum(len(entry.inputs) for entry in found) == edges
    own = sorted(node.name() for node in nodes if not hasattr(node, "variable"))
    assert sorted(entry.sign for entry in found if entry.kind == "op") == own


@table("name", [name for name in MODELS if name not in ("checkpoint", "experts")])  # these save outside the graph, too
def test_saved_bytes_are_those_that_autograd_packs(name):
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x.nbytes) or x, lambda x: x):
        results(name)
    words = [fact for fact in facts(*results(name)) if fact.startswith("saves") and "f64[]" not in fact]

    assert sum(int(re.search(r"([\d,]+) bytes", fact)[1].replace(",", "")) for fact in words) == sum(packed)


def test_a_leaf_and_a_saved_result_are_marked_as_kept():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = x * w
    y = h.exp().sum()
    kept = [entry.name or entry.sign for entry in entries_of(y, names={"x": x, "w": w, "h": h}) if entry.kept]

    assert kept == ["x", "w", "ExpBackward0"]


def test_views_versions_hooks_and_kept_gradients_are_facts():
    x = torch.ones(3, requires_grad=True)
    h = x * 1
    v = h[:2]
    v.mul_(2)
    h.retain_grad()
    x.register_hook(print)
    found = {entry.name: entry.facts for entry in entries_of(h.sum() + v.sum(), names={"x": x, "h": h, "v": v})}

    assert found["x"] == ("has a hook: print",)
    assert "retain_grad() keeps its gradient" in found["h"]
    assert "changed in place, version 1" in found["h"]
    assert "a view" in found["v"]


def test_what_backward_freed_is_said():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    assert not GraphView(y).notes
    y.backward()

    assert "has freed self" in facts(y)
    assert "backward(retain_graph=True)" in GraphView(y).notes[0]


def test_a_saved_tensor_that_was_changed_in_place_is_named_before_backward_fails():
    x = torch.ones(2, requires_grad=True)
    h = x.exp()
    y = (h * 3).sum() + h.sum()
    h.add_(1)

    assert GraphView(y, names={}).notes == [
        "backward() will fail: ExpBackward0 saved result at version 0; it was changed in place since."
    ]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_checkpoint_is_not_run_again():
    model, runs = Checkpointed(), []
    y = model(torch.ones(1, 4))
    model.block[0].register_forward_hook(lambda *_: runs.append(1))

    assert "computes self again" in facts(y)
    assert not runs


def test_what_a_function_of_the_user_saved_is_shown():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert "saves tensors f32[2], 8 bytes" in facts(Double.apply(torch.ones(2, requires_grad=True)))


@pytest.mark.parametrize("shape", [lambda a, b: (a, b), lambda a, b: ([a, b],), lambda a, b: ({"a": a, "b": b},)])
def test_several_tensors_have_one_graph(shape):
    x = torch.ones(2, requires_grad=True)
    a, b = x.sum(), x.prod()

    assert mg.draw(*shape(a, b), names={"x": x, "a": a, "b": b}).text.splitlines()[1:] == [
        "x = [1, 1] f32[2], a leaf, saved for backward", "a = SumBackward0(x) = 2 f32[], an output",
        "b = ProdBackward0(x) = 1 f32[], saved for backward, an output",
    ]  # fmt: skip


def test_a_name_in_a_dictionary_comes_before_that_of_a_variable():
    loss = torch.ones(2, requires_grad=True).sum()

    assert mg.draw({"L": loss}).picture.output.name == "L"


def no_grad():
    with torch.no_grad():
        return torch.ones(2, requires_grad=True) * 2


def inference():
    with torch.inference_mode():
        return torch.ones(2) * 2


@pytest.mark.parametrize("make", [no_grad, inference, lambda: torch.ones(2, requires_grad=True).exp().detach()])
def test_a_tensor_without_a_graph_says_so_and_how_to_get_one(make):
    y = make()

    with pytest.raises(TypeError, match=r"y, f32\[2\], has no graph: it is an input, .*detach\(\) cut.*draw\(f, x\)"):
        mg.draw(y)


def test_a_graph_of_20_000_nodes_is_read_without_recursion():
    y = x = torch.ones((), requires_grad=True)
    for _ in range(20_000):
        y = y * 1.0

    assert len(entries_of(y, names={"x": x})) == 20_001
