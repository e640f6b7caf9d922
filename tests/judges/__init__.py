"""PyTorch's own databases of operators, modules and optimisers, as judges of minigrad.

`python -m tests.judges ops` (or modules, optimisers) calls minigrad as each entry's samples call PyTorch, compares
values and first gradients, and says of each entry whether it is

    whole      all samples agree, in every form that minigrad has: function, aliases, method, in-place method
    wrong      a value or a gradient differs: the worst that can happen
    crash      an exception that does not say what was wanted
    refused    an error of minigrad's own, or a signature that does not know the argument
    absent     a name that is not here
    otherwise  different on purpose: `docs/differences.md` says so, and `deliberate.py` which row
    apart      no question for minigrad: complex, random, sparse, undetermined, or for CUDA alone
"""
