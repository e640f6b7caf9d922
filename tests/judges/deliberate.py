"""Where minigrad differs from PyTorch's databases on purpose: an entry, which of its samples, and the reason.

Each reason is a row of `docs/differences.md`, by its first column.
"""

TWICE = "writing one place twice by index, in `max_unpool` too"
OPS = {
    "cov":
        ("gradient of `cov` towards weights in float32, of two observations",
         lambda sample: sample.input.shape[-1] == 2 and sample.kwargs["aweights"] is not None),
    "linalg.norm subgradients_at_zero":
        ("gradient of the nuclear norm where the matrix is singular",
         lambda sample: "nuc" in (*sample.args, *sample.kwargs.values())),
    "nn.functional.max_unpool1d": (TWICE, lambda sample: True),
    "nn.functional.max_unpool2d": (TWICE, lambda sample: True),
    "nn.functional.max_unpool3d": (TWICE, lambda sample: True),
}  # fmt: skip
MODULES = {"CTCLoss": ("gradient of `ctc_loss` towards log-probabilities", lambda given: True)}
