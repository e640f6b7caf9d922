"""An example of each widget, small enough to be looked at."""

import numpy as np

import minigrad as mg
from minigrad import nn, widgets
from minigrad.profiler.machine import Machine


def graph():
    x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
    return (x * y + w).tanh() * x


def valley(x, y):
    return (1 - x) ** 2 + 5 * (y - x**2) ** 2


def branching(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    return y


def polar(r, angle):
    return r * angle.cos(), r * angle.sin()


def training():
    mg.manual_seed(0)
    points = mg.tensor(np.linspace(-1, 1, 24).reshape(12, 2))
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    classes = mg.tensor([[0.0], [1.0]] * 6)
    loss = nn.functional.binary_cross_entropy_with_logits
    view = widgets.TrainingView(net, loss, (points, classes), mg.optim.SGD(net.parameters(), lr=0.1))
    view.run(20)
    view.wait()
    return view


def network(x, w):
    return ((x @ w).tanh() * 2 + 1).sum() * 1


ARRAYS = mg.tensor(np.linspace(-1, 1, 12).reshape(4, 3)), mg.tensor(np.linspace(-1, 1, 6).reshape(3, 2))


def model():
    mg.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def squared_error(output, target):
    return (output - target).square().mean()


def branches(x):
    return ((x @ x).tanh() @ x + (x @ x).sigmoid() @ x).sum()


BATCH = mg.tensor(np.linspace(-1, 1, 32).reshape(8, 4)), mg.zeros(8, 1)
MACHINE = Machine(peak=1e10, memory=1e10, cache=1e11, call=1e-6)

WIDGETS = {
    "AllReduce": widgets.AllReduce, "ChainRule": lambda: widgets.ChainRule(graph()),
    "ForwardAndReverse": lambda: widgets.ForwardAndReverse(polar, 2.0, 0.5),
    "GradientDescent": lambda: widgets.GradientDescent(valley, start=(-1.5, 2), rate=0.02, low=(-2, -1), high=(2, 3)),
    "GraphView": lambda: widgets.GraphView(model(), BATCH[0], names={}),
    "MemoryTimeline": lambda: widgets.MemoryTimeline(model(), squared_error, *BATCH),
    "PassViewer": lambda: widgets.PassViewer(mg.function(network), *ARRAYS), "Pipeline": widgets.Pipeline,
    "Precision": lambda: widgets.Precision(model(), squared_error, *BATCH),
    "Guess": lambda: widgets.Guess("a_guess", "How many times as fast is the traced call?"),
    "Predict": lambda: widgets.Predict("an_example", "How many boxes has the graph of x * y?", unit="boxes"),
    "Quiz": lambda: widgets.Quiz("00_start_here"),
    "Roofline": lambda: widgets.Roofline(branches, mg.ones(16, 16), machine=MACHINE),
    "Schedule": lambda: widgets.Schedule(branches, mg.ones(16, 16)),
    "StaticVsDynamic": lambda: widgets.StaticVsDynamic(branching, mg.tensor(2.0)), "TrainingView": training,
}  # fmt: skip
