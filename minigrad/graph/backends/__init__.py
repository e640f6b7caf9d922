"""Formulas in C (c.py, group.py); CUDA kernels (cuda/) and C++ loops (native/) made of them; a simulated GPU."""
