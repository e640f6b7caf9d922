"""Data small enough to travel with the course, and the batches to train on it."""

from .datasets import Split as Split
from .datasets import digits as digits
from .datasets import moons as moons
from .loading import batches as batches
