"""Operations as functions, with PyTorch's names: every method, and functions of several tensors or of none."""
