"""Derivatives, beyond Tensor.backward: gradients as values, ops of one's own, and referees for both."""

from . import forward_ad, functional, graph
from .function import custom_gradient, Function
from .gradcheck import gradcheck, gradgradcheck
from .gradient import backward, grad
from .graph import detect_anomaly, set_detect_anomaly
from .tape import GradientTape
