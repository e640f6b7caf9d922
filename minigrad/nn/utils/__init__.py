"""What training loops need beside layers: clipped gradients, parameters as a vector, sequences of different lengths."""

from . import rnn as rnn
from .clip import clip_grad_norm_ as clip_grad_norm_
from .clip import clip_grad_value_ as clip_grad_value_
from .clip import parameters_to_vector as parameters_to_vector
from .clip import vector_to_parameters as vector_to_parameters
