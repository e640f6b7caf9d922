"""A graph on a GPU: one kernel of CUDA C for each fused group, launched on memory that never moves, and replayed.

In the order of reading:

    c         an op's own forward, written down as a C expression of one element
    kernel    a fused group as the text of a kernel
    machine   what launches, and multiplies matrices: CuPy, or the simulated device, which obeys its rules, and counts
    arena     which results may share memory: every buffer at one place, for good
    replay    a graph node by node, recorded once and replayed
"""
