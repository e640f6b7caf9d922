"""What tests beside PyTorch start from."""

import pytest


@pytest.fixture
def doubles():
    """PyTorch with minigrad's default: Python's floats are float64."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
