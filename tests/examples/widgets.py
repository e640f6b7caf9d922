"""An example of each widget, small enough to be looked at."""

import numpy as np

import minigrad as mg
from minigrad import widgets


def graph():
    x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
    return (x * y + w).tanh() * x


def branching(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    return y


def network(x, w):
    return ((x @ w).tanh() * 2 + 1).sum() * 1


ARRAYS = mg.tensor(np.linspace(-1, 1, 12).reshape(4, 3)), mg.tensor(np.linspace(-1, 1, 6).reshape(3, 2))

WIDGETS = {
    "AllReduce": widgets.AllReduce,
    "ChainRule": lambda: widgets.ChainRule(graph()),
    "PassViewer": lambda: widgets.PassViewer(mg.function(network), *ARRAYS),
    "Pipeline": widgets.Pipeline,
    "StaticVsDynamic": lambda: widgets.StaticVsDynamic(branching, mg.tensor(2.0), mg.tensor(-2.0)),
}
