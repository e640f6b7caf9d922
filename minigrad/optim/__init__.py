"""Optimisers: each is its update rule, written as in its paper; and schedules of their learning rate."""

from . import lr_scheduler as lr_scheduler
from .adagrad import Adadelta as Adadelta
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adam import Adamax as Adamax
from .adam import AdamW as AdamW
from .adam import NAdam as NAdam
from .adam import RAdam as RAdam
from .lbfgs import LBFGS as LBFGS
from .optimizer import Optimizer as Optimizer
from .rmsprop import RMSprop as RMSprop
from .rmsprop import Rprop as Rprop
from .sgd import ASGD as ASGD
from .sgd import SGD as SGD
from .whole import Adafactor as Adafactor
from .whole import Muon as Muon
