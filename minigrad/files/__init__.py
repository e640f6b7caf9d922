"""Graphs and states in files: minigrad's own format, ONNX, and an HTTP server for both."""
