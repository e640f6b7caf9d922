"""Operand: what ops apply to. Operators and methods, one line each: the op says the rest.

Two things are operands: a Tensor, which has a value (tensor.py), and a Symbol, which has only a place
in a graph (symbol.py). The rules of the op table use what is written here and nothing else, so they
cannot tell the two apart.

    base          a spec, and `apply`
    synonyms      `dim` for `axis`
    arithmetic    + − × ÷, comparisons, logic
    pointwise     functions of each element
    casting       other dtypes
    movement      the same elements in other places
    pieces        a tensor cut, the parts of a matrix
    indexing      some of the elements
    reduction     many elements to one
    ordering      the larger, the smaller, and all in order
    scanning      running totals
    counting      which elements there are, and how often
    normalising   rows brought to a common scale
    einsum        sums of products, said in letters
    algebra       products of matrices, and what square ones hide
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
