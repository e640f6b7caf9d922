"""A graph on a GPU: one kernel of CUDA C for each fused group, launched on memory that never moves, and replayed.

In the order of reading:

    spelling    how C spells NumPy's dtypes and functions
    functions   what NumPy means by maximum, //, %: the few functions that C has not, in C
    c           a pen for C: an op's own forward, written down as an expression of one element
    index       where in memory an element lies
    reduction   many elements to one
    kernel      a fused group as the text of a kernel
    product     a matrix product as one call of cuBLAS
    arena       which results may share memory: every buffer at one place, for good
    machine     what launches: CuPy; or the simulated device, which obeys the same rules and counts
    shim        that text on the CPU, through a C++ compiler
    steps       one node of the graph, run
    state       the buffers of one call at a time, and what was recorded on them
    replay      all of them, recorded once and replayed
"""
