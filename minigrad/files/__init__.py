"""Graphs and states in files: ours, ONNX's, and those that a server answers from."""
