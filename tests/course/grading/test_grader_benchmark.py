"""The benchmark of a class grades every kind of submission, each family with its share."""

import pytest

from benchmarks import grading

pytestmark = pytest.mark.tool


def test_a_class_has_of_every_family_its_share():
    handed = grading.submissions(100)
    families = [case.family for _, case in handed.values()]
    assert {family: families.count(family) for family in grading.SHARES} == grading.SHARES
    assert grading.with_numpy(b"no notebook", 1) == b"no notebook"
    assert len(grading.submissions(300)) == 300  # every case at least once, whatever is in its file
