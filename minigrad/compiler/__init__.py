"""From a graph to a function: a better graph (passes/), then steps, planned memory and Python source (program/).

The derivative of a single op takes a shorter way, below Tensor, because eager execution needs it: tensor/rules.py.
"""
