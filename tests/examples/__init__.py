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
CASES = [case for examples in EXAMPLES.values() for case in examples]
DIFFERENTIABLE = [
    (op, *xs)
    for op, *xs in CASES
    if op.infer(*(x.spec for x in xs)).is_float and any(x.spec.is_float for x in xs)  # a random number's key is none
]


def title(case):
    return f"{case[0]} {' '.join(str(x.spec) for x in case[1:])}"
