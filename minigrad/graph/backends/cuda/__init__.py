"""A graph on a GPU: one CUDA C kernel for each fused group, launched on buffers at fixed addresses, and replayed.

In reading order:

    c         an op's own forward as a C expression of one element
    kernel    a fused group as the text of a kernel
    machine   launches kernels and multiplies matrices: CuPy, or the simulated device, which follows CuPy's rules
    arena     which results may share memory: every buffer has a fixed place
    replay    a graph run node by node, recorded once and replayed
"""
