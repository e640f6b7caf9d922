"""Everything at once at `minigrad serve`: no answer is wrong, and memory stays as it is."""

import numpy as np
import pytest

from benchmarks import soak

pytestmark = pytest.mark.tool


@pytest.mark.parametrize(
    ("seconds", "clients"), [(8, 16), pytest.param(600, 64, marks=[pytest.mark.night, pytest.mark.timeout(900)])]
)
def test_no_answer_is_wrong_and_memory_is_flat(tmp_path, seconds, clients):
    found = soak.run(tmp_path, seconds, clients)

    assert (found["wrong"], found["first wrong"]) == (0, [])
    assert found["good"] > 100
    assert found["exchanged"] >= seconds // soak.EVERY
    if seconds > 60:
        assert found["bad"] > 10
        assert found["MB after"] <= found["MB before"] + 16


def test_an_answer_that_is_wrong_or_goes_back_to_an_older_model_is_counted():
    seen = soak.Soak(0, {"steady": [1.0, 2.0]})
    x, latest = np.ones((1, 4), "f4"), {"steady": 0}
    for status, factor in [(200, 2.0), (200, 2.0), (200, 1.0), (200, 3.0), (503, 2.0)]:
        seen.compare("steady", x, status, b'{"predictions":[[%g,%g,%g,%g]]}' % ((factor,) * 4), latest)

    assert len(seen.wrong) == 3
