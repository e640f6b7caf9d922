"""Widgets: one .py of traits, one .js of drawing and one .css of looks each, over the plain data of `minigrad.draw`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .all_reduce import AllReduce as AllReduce
    from .chain_rule import ChainRule as ChainRule
    from .forward_and_reverse import ForwardAndReverse as ForwardAndReverse
    from .pass_viewer import PassViewer as PassViewer
    from .pipeline import Pipeline as Pipeline
    from .static_vs_dynamic import StaticVsDynamic as StaticVsDynamic

HOMES = {
    "AllReduce": "all_reduce",
    "ChainRule": "chain_rule",
    "ForwardAndReverse": "forward_and_reverse",
    "PassViewer": "pass_viewer",
    "Pipeline": "pipeline",
    "StaticVsDynamic": "static_vs_dynamic",
}


def __getattr__(name: str) -> object:
    if name in HOMES:  # imported when asked for, because anywidget is slow to import
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    raise AttributeError(f"minigrad.widgets has {', '.join(HOMES)}, and no {name!r}")


def __dir__() -> list[str]:
    return [*HOMES]
