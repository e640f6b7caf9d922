"""Optimisers, each an update rule as in its paper, and learning-rate schedules."""

from . import lr_scheduler as lr_scheduler
from .first_order import (
    ASGD as ASGD, Adadelta as Adadelta, Adafactor as Adafactor, Adagrad as Adagrad, Adam as Adam, AdamW as AdamW,
    Adamax as Adamax, Muon as Muon, NAdam as NAdam, RAdam as RAdam, RMSprop as RMSprop, Rprop as Rprop, SGD as SGD,
)
from .lbfgs import LBFGS as LBFGS
from .optimizer import Optimizer as Optimizer
