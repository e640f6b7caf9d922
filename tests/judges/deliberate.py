"""Where minigrad differs from PyTorch's databases on purpose: an entry, which of its samples, and the reason.

Each reason is a row of `docs/differences.md`, by its first column.
"""

OPS = {
    "linalg.norm subgradients_at_zero": (
        "gradient of the nuclear norm where the matrix is singular",
        lambda sample: "nuc" in (*sample.args, *sample.kwargs.values()),
    ),
}
