"""PyTorch as an oracle, one file for each family of names."""
