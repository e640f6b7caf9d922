"""The contents of `mg.`: functions, and PyTorch's namespaces."""
