"""Operand: what ops apply to. Operators and methods, one line each: the op says the rest.

Two things are operands: a Tensor, which has a value (tensor/tensor.py), and a Symbol, which has only a place
in a graph (tensor/symbol.py). The rules of the op table use what is written here and nothing else, so they
cannot tell the two apart.

    base          a spec, and `apply`; `dim` for `axis`
    pointwise     + − × ÷, comparisons, functions of each element, other dtypes
    movement      the same elements in other places; a tensor cut
    indexing      some of the elements
    reduction     many elements to one; running totals
    ordering      which are larger, how often they are there, rows brought to a common scale
    algebra       products of matrices, sums of products in letters, what square matrices hide
"""

from .algebra import Algebra
from .base import integers as integers
from .base import lengths as lengths
from .indexing import Indexing
from .movement import Movement, Pieces
from .ordering import Counting, Normalising, Ordering
from .pointwise import Arithmetic, Casting, Pointwise
from .reduction import Reduction, Scanning


class Operand(
    Arithmetic, Pointwise, Casting, Movement, Pieces, Indexing,
    Reduction, Ordering, Scanning, Counting, Normalising, Algebra,
):
    """Something with a spec that ops can be applied to."""

    __slots__ = ()
    __hash__ = Arithmetic.__hash__
