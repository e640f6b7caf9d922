"""From a graph to a function: a better graph (passes/), then steps, planned memory and Python source (program/).

`compiled` in executable.py is the one way there, for sessions, traced functions, branches and loops.

The derivative of a single op takes a shorter way, below Tensor, because eager execution needs it: tensor/rules.py.
"""
