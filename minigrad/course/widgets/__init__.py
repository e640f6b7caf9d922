"""Widgets: .py files define their traits, .js files draw them, .css files style them, `minigrad.draw` has the data."""

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


HOMES = {
    "AllReduce": "all_reduce",
    "ChainRule": "chain_rule",
    "ForwardAndReverse": "forward_and_reverse",
    "GradientDescent": "gradient_descent",
    "GraphView": "graph_view",
    "Guess": "predict",
    "MemoryTimeline": "memory_timeline",
    "PassViewer": "pass_viewer",
    "Pipeline": "pipeline",
    "Precision": "precision",
    "Predict": "predict",
    "Quiz": "quiz",
    "Roofline": "roofline",
    "Schedule": "schedule",
    "StaticVsDynamic": "static_vs_dynamic",
    "TrainingView": "training_view",
}


def __getattr__(name: str) -> object:
    if name in HOMES:  # imported on first use, because anywidget is slow to import
        return getattr(import_module(f".{HOMES[name]}", __name__), name)
    raise AttributeError(f"minigrad.course.widgets has no {name!r}; it has {', '.join(HOMES)}")


def __dir__() -> list[str]:
    return [*HOMES]
