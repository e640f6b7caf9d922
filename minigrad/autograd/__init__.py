"""Derivatives beyond Tensor.backward: gradients as values, custom Functions, forward mode, gradient checks."""

from . import forward_ad as forward_ad, functional as functional, graph as graph
from .function import Function as Function, custom_gradient as custom_gradient
from .gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from .gradient import backward as backward, grad as grad
from .graph import detect_anomaly as detect_anomaly, set_detect_anomaly as set_detect_anomaly
from .tape import GradientTape as GradientTape
