"""Optimisers: each is its update rule, written as in its paper; and schedules of their learning rate."""

from . import lr_scheduler
from .first_order import (
    Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, ASGD, Muon, NAdam, RAdam, RMSprop, Rprop, SGD,
)
from .lbfgs import LBFGS
from .optimizer import Optimizer
