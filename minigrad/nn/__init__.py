"""Networks: layers that hold parameters, and the functions between them."""

from .. import functional as functional
from .module import Linear as Linear
from .module import Module as Module
from .module import ReLU as ReLU
from .module import Sequential as Sequential
from .module import Tanh as Tanh
