"""Examples of every op of the table, family by family: the laws are held against them."""

from . import (
    algebra,
    arithmetic,
    indexing,
    loss,
    movement,
    pointwise,
    random,
    recurrent,
    reduction,
    scan,
    softmax,
    sort,
    window,
)

FAMILIES = (
    *(arithmetic, pointwise, movement, reduction, scan, sort, softmax, loss),
    *(indexing, algebra, window, recurrent, random),
)
EXAMPLES = {op: examples for family in FAMILIES for op, examples in family.EXAMPLES.items()}
