"""Reverse-mode differentiation of scalars, on one page, and its replay. Neither needs NumPy."""

from .value import Value as Value
from .value import history as history
