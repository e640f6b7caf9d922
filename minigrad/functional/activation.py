"""Functions between the layers that look along a whole axis. Those of each element are in functions/activation.py."""

from ..functions.face import function
from ..operand import Operand

softmax = function(Operand.softmax)
log_softmax = function(Operand.log_softmax)
softmin = function(Operand.softmin)
