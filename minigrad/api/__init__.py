"""The functions of `mg`, and namespaces named as in PyTorch, such as `mg.linalg`."""
