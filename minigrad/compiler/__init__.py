"""From a graph to a function: Graph → better Graph (rewrite.py) → Python source (codegen.py).

It stands below Tensor, because every eager derivative goes through it once: see plan.py.
"""
