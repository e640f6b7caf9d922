"""Operations as functions: `mg.exp(x)` beside `x.exp()`, family by family. The names are PyTorch's."""
