"""StaticVsDynamic of a PyTorch function: what the film says is what PyTorch and torch.export did."""

from types import MethodType, SimpleNamespace

import pytest

from minigrad.course.widgets import StaticVsDynamic
from minigrad.course.widgets.eager_run import EagerRun
from tests.support.films import check_static_film

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
runs = pytest.importorskip("minigrad.draw.readers.pytorch_runs")
W = torch.tensor([0.5, -1.0])
ONE, TWO = torch.tensor([1.0, 2.0]), torch.tensor([0.25, 1.0, 4.0])


def road(x, training):
    print("called")
    y = 1 - x * 2
    if training:
        y += 1
    for i in range(2):
        y = y * 0.5 + i
    return torch.cond(y.sum() > 3, lambda y: y + 1, lambda y: y * y, (y,)).exp()


def refused(x):
    y = x * W
    if y.sum() > 3:
        return y + 1
    return y


def says(widget):
    return [step["say"] for step in widget.steps]


def test_the_film_tells_what_vanishes_what_prints_and_how_often_it_is_traced():
    widget = StaticVsDynamic(road, cases=[(ONE, True), (ONE * 2, True), (ONE, False), (TWO, False)])

    check_static_film(
        widget,
        ["if", "1 box", "for", "2 boxes", "for", "2 boxes", "for", "4 boxes"],
        ["without a value", "is there already", "This is trace 2: no earlier graph", "This is trace 3"],
    )
    assert all(">1 −<" in panel["html"] for panel in widget.film["panels"][1:])
    assert "true: + 1<" in widget.film["panels"][2]["html"]


def test_values_and_results_are_those_of_pytorch_to_the_bit():
    traces = runs.Traces(road)
    traces.trace_for(TWO, False)
    run = traces.run(TWO, False)
    program = torch.export.export(traces.module, (TWO, False))
    left = EagerRun(road, (TWO, False), runs)

    assert torch.equal(run.results[0], program.module()(TWO, False))
    assert torch.equal(run.results[0], left.recording.result)
    assert len(run.order) == sum(n.op == "call_function" and n.name[:7] != "getitem" for n in program.graph.nodes)
    assert [x.op for x in run.boxes.values() if x.kind == "op"] == [x.op for x in left.boxes.values() if x.kind == "op"]
    assert [x.value for x in run.boxes.values()] == [x.value for x in left.boxes.values()]
    assert [*run.lines.values()] == [*left.line.values()]
    assert traces.trace_count == 1


def test_an_if_on_a_tensor_is_refused_and_its_line_is_marked():
    widget = StaticVsDynamic(refused, ONE)

    assert says(widget)[-1] == (
        "Run eagerly, its result is [0.5, −2]. It cannot be traced: line 3 needs a value, and no value exists while "
        "tracing. GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1). "
        "An if on a tensor can be traced as torch.cond(condition, f, g, …)."
    )
    assert widget.steps[-1]["hot"] == {"hot": [f"line {refused.__code__.co_firstlineno + 2}", "rstop"]}


@torch.no_grad()
def editing(self, x, *, rate=0.5):
    print("one", end=" ") or print("line")
    x[0] = 3
    (lambda: W.mul_(self.weight.sub_(rate)))()
    return x * W


def test_a_model_and_its_tensors_are_not_changed():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)

        def forward(self, x):
            return self.norm(torch.dropout(self.layer(x), 0.5, train=True)).mean()

    net, x = Net(), torch.randn(4, 2, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)
    before, version, state = {k: v.clone() for k, v in net.state_dict().items()}, W._version, torch.get_rng_state()
    widget = StaticVsDynamic(net, cases=[(x,), (x,)])
    edited = StaticVsDynamic(MethodType(editing, SimpleNamespace(weight=weight)), ONE)

    assert says(widget)[-1].startswith("Both have the same result: ")
    assert widget.films[0]["panels"] == widget.films[1]["panels"]
    assert says(edited)[-1].startswith("Both have the same result: [0.75, −1]. ")
    assert edited.steps[1]["text"]["right says"] == "while tracing: one line\n"
    assert [say.split("this line ")[1] for say in says(edited)[2:5]] == [
        "computes [3, 2]; traced, it adds 1 box.",
        "computes [0.5, 0.5] and [0.25, −0.5]; traced, it is in the set_grad_enabled already.",
        "computes [0.75, −1]; traced, it is in the set_grad_enabled already.",
    ]
    assert weight.tolist() == [1, 1]
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert (W.tolist(), ONE.tolist(), W._version) == ([0.5, -1], [1, 2], version)
    assert torch.equal(torch.get_rng_state(), state)
    assert (net.layer.weight.grad, x.grad) == (None, None)


@pytest.mark.parametrize(("f", "args", "framework", "error"), [
    (torch.nn.Linear(2, 2), (ONE,), "", "Linear.forward is code of a library: take a function of your own"),
    (road, (ONE, True), "keras", "framework must be one of 'torch', 'jax', 'tf', got 'keras'"),
    (3, (ONE,), "", "takes a Python function, got 3"),
])  # fmt: skip
def test_what_cannot_be_shown_is_refused_by_name(f, args, framework, error):
    with pytest.raises((TypeError, ValueError), match=error):
        StaticVsDynamic(f, *args, framework=framework)


@pytest.mark.parametrize(("f", "arg", "end"), [
    (lambda n: torch.ones(2) * n, 3.0, "Both have the same result: [3, 3]. "),
    (lambda x: "text", ONE, "Both have the same result: 'text'. "),
    (lambda x: x.sum(), "text", "Here it ends: it raised AttributeError: 'str' object has no attribute 'sum'."),
])  # fmt: skip
def test_arguments_and_results_may_be_no_tensors(f, arg, end):
    assert says(StaticVsDynamic(f, arg, framework="torch"))[-1].startswith(end)
