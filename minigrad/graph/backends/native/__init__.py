"""Programs whose loops are C++: parts of the plan, compiled by whatever compiler there is, called from the same Python.

toolchain.py    a compiler, and the cache of what it has built
functions.h     what the text of a part stands on
lower.py        a graph as steps that C can do in one loop
writer.py       a step as a function of C++
program.py      runs of such steps as parts of a Program
tape.py         graphs of single numbers: one loop for all of them
"""
