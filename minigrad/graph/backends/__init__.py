"""Formulas in C (c.py, group.py); CUDA kernels (cuda/) and C++ loops (native/) that use them; a simulated GPU."""
