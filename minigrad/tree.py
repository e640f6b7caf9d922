"""Arguments of any structure: the tensors in nested tuples, lists and dictionaries, in order, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """What is in the tree that is no tuple, list or dictionary, from left to right."""
    match tree:
        case tuple() | list():
            return [leaf for branch in tree for leaf in leaves(branch)]
        case dict():
            return [leaf for branch in tree.values() for leaf in leaves(branch)]
    return [tree]


def planted(tree: Any, new: Iterator[Any]) -> Any:
    """A tree of the same structure with other leaves."""
    match tree:
        case tuple() if hasattr(tree, "_fields"):
            return type(tree)(*(planted(branch, new) for branch in tree))
        case tuple() | list():
            return type(tree)(planted(branch, new) for branch in tree)
        case dict():
            return {name: planted(branch, new) for name, branch in tree.items()}
    return next(new)
