"""What scripts/phrasebook writes is what is checked in, and an op's class is all that it needs."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

import minigrad as mg
from tests.support.root import ROOT

pytestmark = pytest.mark.tool

HOUSE = ROOT / "minigrad"
UNHEARD = '''

class Unheard(Elementwise):
    """y = e^(−x²)"""

    method = "unheard"

    def forward(self, xp, x): return xp.exp(-x * x)
    def partials(self, y, x): return -2 * x * y,
'''


@pytest.fixture(scope="module")
def phrasebook():
    loader = SourceFileLoader("phrasebook", str(ROOT / "scripts" / "phrasebook"))
    module = module_from_spec(spec_from_loader("phrasebook", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def texts():
    return {path: path.read_text("utf-8") for path in [*HOUSE.rglob("*.py"), *HOUSE.rglob("*.pyi")]}


def test_what_is_checked_in_follows_from_the_ops_and_the_methods(phrasebook, texts):
    written = phrasebook.written(texts)

    assert [path.name for path in written if written[path] != texts[path]] == [], "run `python scripts/phrasebook`"


def test_the_class_of_an_op_that_names_its_method_is_all_that_is_written_by_hand(phrasebook, texts):
    texts[HOUSE / "engine/ops/pointwise.py"] += UNHEARD
    before, written = phrasebook.written(dict(texts)), phrasebook.written(texts)
    new = {
        path.relative_to(HOUSE).as_posix(): set(text.splitlines()) - set(texts[path].splitlines())
        for path, text in written.items()
        if text != texts[path]
    }

    assert written == before, "its result does not depend on when it is asked"
    assert "    def unheard(self) -> Self: return self.apply(ops.Unheard())" in new["engine/methods/pointwise.py"]
    assert new["api/functions/faces.pyi"] == {"def unheard(input: Any) -> Any: ..."}
    assert any("unheard as unheard" in line for line in new["__init__.pyi"])
    assert any("Unheard" in line for line in new["engine/ops/__init__.py"])
    assert any("unheard_" in line for line in new["engine/tensor/inplace.py"])
    assert phrasebook.written(written) == written, "written twice it is the same"


def test_an_op_of_three_operands_has_its_method_by_hand(phrasebook, texts):
    texts[HOUSE / "engine/ops/pointwise.py"] += UNHEARD.replace("xp, x)", "xp, x, y, z)")

    with pytest.raises(ValueError, match="Unheard names a method, unheard, and has 3 operands"):
        phrasebook.written(texts)


def test_a_function_a_method_and_its_twin_say_what_the_op_is():
    assert mg.exp.__doc__ == mg.Tensor.exp.__doc__ == "y = eˣ"
    assert mg.Tensor.exp_.__doc__ == "exp, in place: y = eˣ"


def test_a_function_takes_numbers_lists_and_arrays():
    assert mg.exp(0).item() == mg.exp([0.0])[0].item() == 1
    assert mg.maximum([1.0, 2.0], mg.tensor([0.0, 5.0])).tolist() == [1, 5]
    assert mg.pow(2, mg.tensor([1.0, 2.0], "f4")).dtype == "float32"
    with pytest.raises(TypeError, match="got a list of tensors"):
        mg.exp([mg.tensor(1.0)])
