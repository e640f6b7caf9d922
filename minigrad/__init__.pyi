from . import autograd as autograd
from . import data as data
from . import errors as errors
from . import functional as functional
from . import laws as laws
from . import nn as nn
from . import optim as optim
from . import widgets as widgets
from .autograd import grad as grad
from .autograd import gradcheck as gradcheck
from .draw import draw as draw
from .functional import cross_entropy as cross_entropy
from .functional import log_softmax as log_softmax
from .functional import mse_loss as mse_loss
from .functional import softmax as softmax
from .functional import where as where
from .modes import enable_grad as enable_grad
from .modes import is_grad_enabled as is_grad_enabled
from .modes import no_grad as no_grad
from .modes import set_grad_enabled as set_grad_enabled
from .scalar import Value as Value
from .tensor import Tensor as Tensor
from .tensor import tensor as tensor

__version__: str
