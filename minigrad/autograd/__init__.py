"""Derivatives, beyond Tensor.backward: gradients as values, ops of one's own, and referees for both."""

from . import forward_ad as forward_ad
from . import functional as functional
from . import graph as graph
from .anomaly import detect_anomaly as detect_anomaly
from .anomaly import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .function import custom_gradient as custom_gradient
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .gradient import backward as backward
from .gradient import grad as grad
from .tape import GradientTape as GradientTape
