"""Schedules of the learning rate: `lr_at(t, base)`, each in closed form."""

from .closed_form import ConstantLR as ConstantLR
from .closed_form import CosineAnnealingLR as CosineAnnealingLR
from .closed_form import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .closed_form import CyclicLR as CyclicLR
from .closed_form import ExponentialLR as ExponentialLR
from .closed_form import LambdaLR as LambdaLR
from .closed_form import LinearLR as LinearLR
from .closed_form import MultiplicativeLR as MultiplicativeLR
from .closed_form import MultiStepLR as MultiStepLR
from .closed_form import OneCycleLR as OneCycleLR
from .closed_form import PolynomialLR as PolynomialLR
from .closed_form import StepLR as StepLR
from .plateau import ChainedScheduler as ChainedScheduler
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .plateau import SequentialLR as SequentialLR
from .scheduler import LRScheduler as LRScheduler
