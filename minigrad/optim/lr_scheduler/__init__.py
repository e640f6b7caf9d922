"""Schedules of the learning rate: `lr_at(t, base)`, each in closed form."""

from .cosine import CosineAnnealingLR as CosineAnnealingLR
from .cosine import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cosine import OneCycleLR as OneCycleLR
from .cyclic import CyclicLR as CyclicLR
from .factor import ConstantLR as ConstantLR
from .factor import ExponentialLR as ExponentialLR
from .factor import LambdaLR as LambdaLR
from .factor import LinearLR as LinearLR
from .factor import MultiplicativeLR as MultiplicativeLR
from .factor import MultiStepLR as MultiStepLR
from .factor import PolynomialLR as PolynomialLR
from .factor import StepLR as StepLR
from .joined import ChainedScheduler as ChainedScheduler
from .joined import SequentialLR as SequentialLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .scheduler import LRScheduler as LRScheduler
