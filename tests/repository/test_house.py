"""The house, measured: `scripts/house` says what is, and these of its goals are held."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from tests.support.root import ROOT


@pytest.fixture(scope="module")
def house():
    loader = SourceFileLoader("house", str(ROOT / "scripts" / "house"))
    module = module_from_spec(spec_from_loader("house", loader))
    loader.exec_module(module)
    return module


def test_the_route_is_read_in_an_afternoon(house):
    assert sum(house.lines(house.HOUSE / name) for name in house.route()) <= 4_300


def test_the_route_needs_nothing_that_comes_after_it(house):
    """Read in order, a file is met before those that import it, unless the route leaves it out."""
    names, seen = house.route(), set()
    for name in names:
        path = house.HOUSE / name
        package = path.relative_to(house.HOUSE).parent.parts
        needed = {module.replace(".", "/") + ".py" for module in house.imported(path, package)}
        assert not needed.intersection(names) - seen - {name}, name
        seen.add(name)


AT_MOST = {"minigrad/engine": 13_264, "minigrad": 87_910, "tests": 90_010, "benchmarks": 3_465}  # raised: decision 049


@pytest.mark.parametrize(("folder", "most"), AT_MOST.items())
def test_the_code_does_not_grow(house, folder, most):
    assert house.weight(folder) <= most, f"take away elsewhere what was added; the goal is {house.GOALS[folder]:,}"
    assert house.weight(folder) > most - most // 50, f"{folder}/ has become shorter: lower AT_MOST"


def test_few_modules_lie_beside_the_folders(house):
    assert len(house.beside()) <= 8


def test_what_importing_a_tensor_loads(house):
    modules, lines = house.loaded(house.TENSOR)

    assert modules <= 58
    assert lines <= 12_050


def test_a_tensor_is_made_of_few_classes(house):
    assert house.mro() <= 8


def test_a_warm_step_makes_no_more_calls(house):
    calls, files = house.calls()

    assert calls <= 58
    assert files <= 13
