"""`mg.exp(x)` for `x.exp()`: methods as functions, where x may also be a number, a list or an array.

The loop below makes a function of every public method of an operand, except those in ALONE. `python scripts/phrasebook`
generates the stubs: the signatures in faces.pyi, and the names of `mg` in minigrad/__init__.pyi.
"""

from __future__ import annotations

from inspect import isfunction

from ...engine.methods import Operand
from ...engine.methods.arguments import accept_synonyms
from ...engine.tensor.lift import function

# Methods without a function of the same name in `mg`: mg.float is a dtype, gelu is in mg.nn.functional.
ALONE = """
apply lift dim ndimension nelement element_size axis axes real_valued is_floating_point
astype type type_as double half long short float int char byte bool
to cpu cuda new_full new_zeros new_ones new_empty
view view_as reshape_as contiguous expand expand_as repeat unfold sum_to sum_to_size index_set where
linear inv solve solve_triangular eigh eigvalsh standardise rms_normalise polygamma
expit logsigmoid silu mish softplus gelu softmin
"""
HEARD = {  # function → {argument name that only PyTorch's function has: argument name of the method}
    "max": {"other": "dim"}, "min": {"other": "dim"}, "vdot": {"other": "tensor"},
    "tensordot": {"a": "input", "b": "other"}, "trapezoid": {"y": "input"},
    "trapz": {"y": "input"}, "cumulative_trapezoid": {"y": "input"}, "isin": {"elements": "input"},
    "split": {"tensor": "input", "split_size_or_sections": "split_size"},
    "tensor_split": {"sections": "indices_or_sections", "indices": "indices_or_sections"},
}  # fmt: skip

for name in sorted({*dir(Operand)} - {*ALONE.split()}):
    if not name.startswith("_") and isfunction(method := getattr(Operand, name)):
        face = function(method, name)
        globals()[name] = accept_synonyms(**HEARD[name])(face) if name in HEARD else face
