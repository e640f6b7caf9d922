"""The road: the nine lessons for a short course, for a learner who has a third of the time."""

from __future__ import annotations

ROAD = ("00", "02", "06", "09", "11", "13", "16", "22", "25")  # the numbers of its lessons, and of their exercises
SIGN = "road"  # marks them in the map of the course, in the book and in the status


def is_on_road(name: str) -> bool:
    """Whether a lesson or an exercise, such as "02_chain_rule_backwards", is on the road."""
    return name[:2] in ROAD
