"""Operand: what ops apply to. Operators and methods, one line each: the op says the rest.

Two things are operands: a Tensor, which has a value (tensor.py), and a Symbol, which has only a place
in a graph (symbol.py). The rules of the op table use what is written here and nothing else, so they
cannot tell the two apart.

    base          a spec, and `apply`
    arithmetic    + − × ÷, comparisons
    pointwise     functions of each element
    movement      the same elements in other places
    indexing      some of the elements
    reduction     many elements to one
    algebra       products of matrices
"""

from .algebra import Algebra
from .arithmetic import Arithmetic
from .base import integers as integers
from .indexing import Indexing
from .movement import Movement
from .pointwise import Pointwise
from .reduction import Reduction


class Operand(Arithmetic, Pointwise, Movement, Indexing, Reduction, Algebra):
    """Something with a spec that ops can be applied to."""

    __slots__ = ()
    __hash__ = Arithmetic.__hash__
