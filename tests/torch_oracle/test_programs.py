"""What PyTorch's users write, word for word, in minigrad and in PyTorch: the answers must not differ."""

import pytest

import minigrad as mg

from .oracle import agree_throughout, torch
from .programs import find_programs, gradients, networks, tensors, training

MODULES = gradients, networks, tensors, training
PROGRAMS = {name: f for module in MODULES for name, f in find_programs(vars(module)).items()}


@pytest.mark.filterwarnings("ignore::UserWarning:torch", "ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Using a target size:UserWarning")  # PyTorch's, as are the next two
@pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning")
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled:UserWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("doubles")
def test_a_program_gives_the_same_answers(name):
    agree_throughout(PROGRAMS[name](mg), PROGRAMS[name](torch), name)


def test_there_are_some_hundred_programs():
    assert len(PROGRAMS) > 100
