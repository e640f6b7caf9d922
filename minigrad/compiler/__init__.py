"""From a graph to a function.

    the derivative of an op     Graph → better Graph (rewrite.py) → Python source (codegen.py)
    a whole program             Graph → passes (pipeline.py) → steps, memory, Python source (program.py)

It stands below Tensor, because every eager derivative goes through it once: see plan.py.
"""
