"""Formulas in C (c.py, group.py); CUDA kernels of them (cuda/), loops in C++ (native/); a GPU that is simulated."""
