"""Mixed precision, with PyTorch's names: products in 16 bits, sums in float32, and a scale for the gradients.

autocast       runs each op in the precision that its class specifies
grad_scaler    scales the loss so that float16 can hold its gradients; skips steps that overflow
"""

from .autocast import autocast as autocast
from .autocast import is_autocast_enabled as is_autocast_enabled
from .grad_scaler import GradScaler as GradScaler
