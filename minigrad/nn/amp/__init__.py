"""Mixed precision, with PyTorch's names: products in 16 bits, sums in float32, and a scale for the gradients.

autocast       each op in the precision that its class says
grad_scaler    the loss scaled so that float16 holds its gradients; steps that overflow are left out
"""

from .autocast import autocast as autocast
from .autocast import is_autocast_enabled as is_autocast_enabled
from .grad_scaler import GradScaler as GradScaler
