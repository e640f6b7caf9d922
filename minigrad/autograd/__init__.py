"""Derivatives, beyond Tensor.backward: gradients as values, and a referee for them."""

from .gradcheck import gradcheck as gradcheck
from .gradient import grad as grad
