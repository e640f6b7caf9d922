"""Widgets: .py files define their traits, .js files draw them, .css files style them, `minigrad.draw` has the data."""

import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .all_reduce import AllReduce as AllReduce
    from .chain_rule import ChainRule as ChainRule
    from .forward_and_reverse import ForwardAndReverse as ForwardAndReverse
    from .gradient_descent import GradientDescent as GradientDescent
    from .graph_view import GraphView as GraphView
    from .memory_timeline import MemoryTimeline as MemoryTimeline
    from .pass_viewer import PassViewer as PassViewer
    from .pipeline import Pipeline as Pipeline
    from .precision import Precision as Precision
    from .predict import Guess as Guess
    from .predict import Predict as Predict
    from .quiz import Quiz as Quiz
    from .roofline import Roofline as Roofline
    from .schedule import Schedule as Schedule
    from .static_vs_dynamic import StaticVsDynamic as StaticVsDynamic
    from .training_view import TrainingView as TrainingView


NAMES = (
    "AllReduce", "ChainRule", "ForwardAndReverse", "GradientDescent", "GraphView", "MemoryTimeline", "PassViewer",
    "Pipeline", "Precision", "Predict", "Quiz", "Roofline", "Schedule", "StaticVsDynamic", "TrainingView",
)  # fmt: skip
HOMES = {name: re.sub(r"\B(?=[A-Z])", "_", name).lower() for name in NAMES} | {"Guess": "predict"}
__all__ = list(HOMES)  # for `from minigrad.widgets import *`


def __getattr__(name: str) -> object:
    if name in HOMES:  # imported on first use, because anywidget is slow to import
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    raise AttributeError(f"minigrad.course.widgets has no {name!r}; it has {', '.join(HOMES)}")


def __dir__() -> list[str]:
    return [*HOMES]
