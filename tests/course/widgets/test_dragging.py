"""The graph that a browser runs when a leaf is dragged: the words of pictures, and nothing where words do not do."""

import pytest

import minigrad as mg
from minigrad.course.widgets import ChainRule
from minigrad.course.widgets.dragging import SPELT, tree, tree_ops
from minigrad.draw.scalars import RULES
from minigrad.scalar.value import Value


def test_words_become_nested_lists():
    assert tree("1 − y²") == ["Sub", 1, ["Pow", "y", 2]]
    assert tree("−y ÷ b") == ["Div", ["USub", "y"], "b"]
    assert tree("1 if a > 0 else 0") == ["IfExp", ["Gt", "a", 0], 1, 0]


def test_every_rule_that_pictures_have_words_for_is_spelt():
    for words in (rule.format(a="a", b="b", y="y") for rules in RULES.values() for rule in rules):
        assert tree_ops(tree(words)) <= SPELT


def own(x):
    return Value(x.data**2, ((x, 2 * x.data),), "square")


def crowd(x):
    return sum((Value(1.0) for _ in range(8)), x)


@pytest.mark.parametrize("f", [own, lambda x: x**1.23456, lambda x: mg.tensor(1.0, requires_grad=True) * 2, crowd])
def test_what_a_browser_cannot_follow_has_no_sliders(f):
    """A rule of the learner's own; an exponent that words round; arrays; more leaves than have room."""
    assert ChainRule(f(Value(2.0))).program == []
