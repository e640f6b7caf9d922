"""Optimisers: each is its update rule, written as in its paper; and schedules of their learning rate."""

from . import lr_scheduler as lr_scheduler
from .first_order import ASGD as ASGD
from .first_order import SGD as SGD
from .first_order import Adadelta as Adadelta
from .first_order import Adagrad as Adagrad
from .first_order import Adam as Adam
from .first_order import Adamax as Adamax
from .first_order import AdamW as AdamW
from .first_order import NAdam as NAdam
from .first_order import RAdam as RAdam
from .first_order import RMSprop as RMSprop
from .first_order import Rprop as Rprop
from .lbfgs import LBFGS as LBFGS
from .optimizer import Optimizer as Optimizer
from .whole import Adafactor as Adafactor
from .whole import Muon as Muon
