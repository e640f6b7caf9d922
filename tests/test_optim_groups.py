"""What an optimiser refuses to move, and says so at the door."""

import numpy as np
import pytest

import minigrad as mg


def leaf(data):
    return mg.tensor(data, requires_grad=True)


REFUSED = {
    "a negative lr": (lambda w: mg.optim.SGD([w], lr=-1.0), ValueError, r"SGD.*lr.*-1\.0"),
    "no number": (lambda w: mg.optim.SGD([w], lr="0.1"), ValueError, "lr.*'0.1'"),
    "not a number": (lambda w: mg.optim.SGD([w], lr=float("nan")), ValueError, "lr.*nan"),
    "a beta of 1": (lambda w: mg.optim.Adam([w], betas=(0.9, 1.0)), ValueError, r"betas.*below 1.*\(0.9, 1.0\)"),
    "one beta": (lambda w: mg.optim.Adam([w], betas=0.9), ValueError, "betas.*two numbers"),
    "a negative eps": (lambda w: mg.optim.RMSprop([w], eps=-1), ValueError, "eps"),
    "a rho above 1": (lambda w: mg.optim.Adadelta([w], rho=1.5), ValueError, "rho.*0 to 1"),
    "Nesterov at rest": (lambda w: mg.optim.SGD([w], nesterov=True), ValueError, "momentum=0"),
    "a negative lr of a group": (lambda w: mg.optim.SGD([{"params": w, "lr": -1}]), ValueError, "lr"),
    "the same twice": (lambda w: mg.optim.SGD([w, leaf(1.0), w]), ValueError, "parameter 2 .* parameter 0"),
    "the same in two groups": (
        lambda w: mg.optim.SGD([{"params": w}, {"params": [leaf(1.0), w]}]),
        ValueError,
        "parameter 1 of group 1 .* parameter 0 of group 0",
    ),
    "an unknown option": (
        lambda w: mg.optim.SGD([{"params": w, "learning_rate": 1}]),
        ValueError,
        "no option learning_rate; it has lr, momentum",
    ),
    "a group without parameters": (lambda w: mg.optim.SGD([{"lr": 1.0}]), ValueError, "params"),
    "nothing": (lambda w: mg.optim.Adam([]), ValueError, "no parameters"),
    "a generator used up": (lambda w: mg.optim.Adam(used_up()), ValueError, "afresh"),
    "a group's generator used up": (
        lambda w: mg.optim.Adam([{"params": w}, {"params": used_up()}]),
        ValueError,
        "used up",
    ),
    "a set": (lambda w: mg.optim.Adam({w}), TypeError, "order"),
    "a number": (lambda w: mg.optim.Adam(3), TypeError, "got 3"),
    "an array": (lambda w: mg.optim.Adam([np.ones(2)]), TypeError, "parameter 0"),
    "a pair": (lambda w: mg.optim.Adam([("w", w)]), TypeError, "parameter 0"),
    "a result": (lambda w: mg.optim.Adam([w * 2]), TypeError, "leaves"),
    "only data": (lambda w: mg.optim.Adam([mg.tensor(1.0)]), TypeError, "require a gradient"),
}


def used_up():
    parameters = iter([leaf(1.0)])
    list(parameters)
    return parameters


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_said_at_the_door(name):
    make, error, words = REFUSED[name]

    with pytest.raises(error, match=words):
        make(leaf(1.0))


def test_a_group_that_is_refused_leaves_the_optimiser_as_it_was():
    w = leaf(1.0)
    optimizer = mg.optim.SGD([w])

    with pytest.raises(ValueError):
        optimizer.add_param_group({"params": [leaf(2.0), w]})

    assert len(optimizer.param_groups) == 1
