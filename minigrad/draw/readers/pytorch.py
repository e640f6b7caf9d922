"""Graphs of PyTorch."""

from .pytorch_run import replay_of as replay_of
