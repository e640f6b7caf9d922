"""Examples of every op of the table, family by family: the laws are held against them."""

from . import algebra, arithmetic, indexing, movement, pointwise, reduction

FAMILIES = (arithmetic, pointwise, movement, reduction, indexing, algebra)
EXAMPLES = {op: examples for family in FAMILIES for op, examples in family.EXAMPLES.items()}
