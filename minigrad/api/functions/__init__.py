"""Operations as functions, with PyTorch's names: every method, and what takes several tensors or none."""
