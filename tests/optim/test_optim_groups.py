"""What an optimiser refuses to move, and says so at the door."""

import numpy as np
import pytest
from test_optimizer import leaf

import minigrad as mg
from minigrad.optim import SGD, Adam
from tests.support.table import table

REFUSED = {
    "a negative lr": (lambda w: SGD([w], lr=-1.0), ValueError, r"SGD.*lr.*-1\.0"),
    "no number": (lambda w: SGD([w], lr="0.1"), ValueError, "lr.*'0.1'"),
    "not a number": (lambda w: SGD([w], lr=float("nan")), ValueError, "lr.*nan"),
    "a beta of 1": (lambda w: Adam([w], betas=(0.9, 1.0)), ValueError, r"betas.*below 1.*\(0.9, 1.0\)"),
    "one beta": (lambda w: Adam([w], betas=0.9), ValueError, "betas.*two numbers"),
    "a negative eps": (lambda w: mg.optim.RMSprop([w], eps=-1), ValueError, "eps"),
    "a rho above 1": (lambda w: mg.optim.Adadelta([w], rho=1.5), ValueError, "rho.*0 to 1"),
    "Nesterov at rest": (lambda w: SGD([w], nesterov=True), ValueError, "momentum=0"),
    "a negative lr of a group": (lambda w: SGD([{"params": w, "lr": -1}]), ValueError, "lr"),
    "the same twice": (lambda w: SGD([w, leaf(1.0), w]), ValueError, "parameter 2 .* parameter 0"),
    "the same in two groups": (
        lambda w: SGD([{"params": w}, {"params": [leaf(1.0), w]}]), ValueError,
        "parameter 1 of group 1 .* parameter 0 of group 0",
    ),
    "an unknown option": (
        lambda w: SGD([{"params": w, "learning_rate": 1}]), ValueError, "no option learning_rate; it has lr, momentum",
    ),
    "a group without parameters": (lambda w: SGD([{"lr": 1.0}]), ValueError, "params"),
    "nothing": (lambda w: Adam([]), ValueError, "no parameters"),
    "a generator used up": (lambda w: Adam(used_up()), ValueError, "called again"),
    "a group's generator used up": (lambda w: Adam([{"params": w}, {"params": used_up()}]), ValueError, "used up"),
    "a set": (lambda w: Adam({w}), TypeError, "order"),
    "a number": (lambda w: Adam(3), TypeError, "got 3"),
    "an array": (lambda w: Adam([np.ones(2)]), TypeError, "parameter 0"),
    "a pair": (lambda w: Adam([("w", w)]), TypeError, "parameter 0"),
    "a result": (lambda w: Adam([w * 2]), TypeError, "leaves"),
    "only data": (lambda w: Adam([mg.tensor(1.0)]), TypeError, "require a gradient"),
}  # fmt: skip


def used_up():
    parameters = iter([leaf(1.0)])
    list(parameters)
    return parameters


@table("make, error, words", REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_said_at_the_door(make, error, words):
    with pytest.raises(error, match=words):
        make(leaf(1.0))


def test_a_group_that_is_refused_leaves_the_optimiser_as_it_was():
    w = leaf(1.0)
    optimizer = SGD([w])

    with pytest.raises(ValueError):
        optimizer.add_param_group({"params": [leaf(2.0), w]})

    assert len(optimizer.param_groups) == 1
