"""Programs whose loops are C++: parts of the plan, compiled by any compiler found, and called from the same Python.

toolchain.py    finds a compiler, and caches what it builds
functions.h     definitions that the text of every part uses
lower.py        lowers a graph to steps that are one loop in C
writer.py       writes a step as a C++ function
program.py      makes runs of such steps parts of a Program
tiers.py        decides when native code replaces a NumPy program, for jit_compile="auto"
tape.py         runs graphs of single numbers in one loop
"""
