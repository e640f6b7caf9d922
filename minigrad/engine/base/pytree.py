"""Pytrees: nested tuples, lists and dictionaries. Flatten a tree into a list of leaves, and rebuild it from a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .errors import ShapeError


def leaves(tree: Any) -> list[Any]:
    """The leaves of the tree, from left to right: everything in it that is not a tuple, list or dictionary."""
    match tree:
        case tuple() | list():
            return [leaf for branch in tree for leaf in leaves(branch)]
        case dict():
            return [leaf for branch in tree.values() for leaf in leaves(branch)]
    return [tree]


def leaves_beside(tree: Any, other: Any) -> list[Any]:
    """The leaves of `other`, in the order of the leaves of `tree`.

    Raises ShapeError if the two structures differ.
    """
    match tree:
        case tuple() | list() if isinstance(other, tuple | list) and len(other) == len(tree):
            return [leaf for branch, its in zip(tree, other) for leaf in leaves_beside(branch, its)]
        case dict() if isinstance(other, dict) and other.keys() == tree.keys():
            return [leaf for name, branch in tree.items() for leaf in leaves_beside(branch, other[name])]
        case tuple() | list() | dict():
            pass
        case _ if not isinstance(other, tuple | list | dict):
            return [other]
    raise ShapeError(f"wanted the structure of {outline(tree)}, and got that of {outline(other)}")


def broadcast_prefix(tree: Any, prefix: Any) -> list[Any]:
    """For each leaf of the tree, the value that `prefix` has for this leaf or for a branch that contains it.

    Raises ShapeError if `prefix` has branches that the tree lacks.
    """
    match tree, prefix:
        case (tuple() | list(), tuple() | list()) if len(prefix) == len(tree):
            return [said for branch, its in zip(tree, prefix) for said in broadcast_prefix(branch, its)]
        case (dict(), dict()) if prefix.keys() == tree.keys():
            return [said for name, branch in tree.items() for said in broadcast_prefix(branch, prefix[name])]
        case _ if not isinstance(prefix, tuple | list | dict):
            return [prefix] * len(leaves(tree))
    raise ShapeError(f"wanted the structure of {outline(tree)}, or a prefix of it, and got that of {outline(prefix)}")


def paths(tree: Any, name: str) -> list[str]:
    """For each leaf, the expression that reaches it from the variable `name`: `name[0]["h"]`."""
    match tree:
        case tuple() | list():
            return [path for i, branch in enumerate(tree) for path in paths(branch, f"{name}[{i}]")]
        case dict():
            return [path for key, branch in tree.items() for path in paths(branch, f"{name}[{key!r}]")]
    return [name]


def outline(tree: Any) -> str:
    """The structure of a tree as text, with a dot for each leaf."""
    match tree:
        case tuple():
            return f"({', '.join(map(outline, tree))}{',' * (len(tree) == 1)})"
        case list():
            return f"[{', '.join(map(outline, tree))}]"
        case dict():
            return f"{{{', '.join(f'{name!r}: {outline(branch)}' for name, branch in tree.items())}}}"
    return "·"


def unflatten_like(tree: Any, new: Iterator[Any]) -> Any:
    """A tree of the same structure, whose leaves are taken from the iterator `new`."""
    match tree:
        case tuple() if hasattr(tree, "_fields"):
            return type(tree)(*(unflatten_like(branch, new) for branch in tree))
        case tuple() | list():
            return type(tree)(unflatten_like(branch, new) for branch in tree)
        case dict():
            return {name: unflatten_like(branch, new) for name, branch in tree.items()}
    return next(new)


def replace_leaves(tree: Any, is_chosen: Callable[[Any], bool], new: Iterable[Any]) -> Any:
    """The tree with each leaf for which `is_chosen` is true replaced by the next value of `new`."""
    others = iter(new)
    return unflatten_like(tree, iter([next(others) if is_chosen(leaf) else leaf for leaf in leaves(tree)]))


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply f to each leaf, together with the corresponding leaves of other trees of the same structure."""
    return unflatten_like(tree, map(f, leaves(tree), *(leaves_beside(tree, other) for other in others)))
