"""Networks: layers that hold parameters, and the functions between them. Names are PyTorch's.

parameter, tree, state, hooks, module    what every layer is
container                                modules made of modules
init                                     where parameters start
linear, conv, pooling, norm, dropout, embedding, activation, recurrent, cells, attention, transformer
loss                                     functional/loss.py and classification.py as modules
utils                                    gradients clipped, sequences of different lengths
"""

from .. import functional as functional
from . import init as init
from . import utils as utils
from .activation import ELU as ELU
from .activation import GELU as GELU
from .activation import SELU as SELU
from .activation import Hardsigmoid as Hardsigmoid
from .activation import Hardswish as Hardswish
from .activation import Hardtanh as Hardtanh
from .activation import LeakyReLU as LeakyReLU
from .activation import LogSigmoid as LogSigmoid
from .activation import LogSoftmax as LogSoftmax
from .activation import Mish as Mish
from .activation import PReLU as PReLU
from .activation import ReLU as ReLU
from .activation import ReLU6 as ReLU6
from .activation import Sigmoid as Sigmoid
from .activation import SiLU as SiLU
from .activation import Softmax as Softmax
from .activation import Softplus as Softplus
from .activation import Softsign as Softsign
from .activation import Tanh as Tanh
from .attention import MultiheadAttention as MultiheadAttention
from .cells import GRUCell as GRUCell
from .cells import LSTMCell as LSTMCell
from .cells import RNNCell as RNNCell
from .container import Flatten as Flatten
from .container import Identity as Identity
from .container import ModuleDict as ModuleDict
from .container import ModuleList as ModuleList
from .container import ParameterList as ParameterList
from .container import Sequential as Sequential
from .container import Unflatten as Unflatten
from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .conv import ConvTranspose1d as ConvTranspose1d
from .conv import ConvTranspose2d as ConvTranspose2d
from .conv import ConvTranspose3d as ConvTranspose3d
from .dropout import Dropout as Dropout
from .dropout import Dropout1d as Dropout1d
from .dropout import Dropout2d as Dropout2d
from .dropout import Dropout3d as Dropout3d
from .embedding import Embedding as Embedding
from .linear import Bilinear as Bilinear
from .linear import Linear as Linear
from .loss import BCELoss as BCELoss
from .loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .loss import CrossEntropyLoss as CrossEntropyLoss
from .loss import GaussianNLLLoss as GaussianNLLLoss
from .loss import HuberLoss as HuberLoss
from .loss import KLDivLoss as KLDivLoss
from .loss import L1Loss as L1Loss
from .loss import MSELoss as MSELoss
from .loss import NLLLoss as NLLLoss
from .loss import SmoothL1Loss as SmoothL1Loss
from .module import Module as Module
from .norm import BatchNorm1d as BatchNorm1d
from .norm import BatchNorm2d as BatchNorm2d
from .norm import BatchNorm3d as BatchNorm3d
from .norm import GroupNorm as GroupNorm
from .norm import InstanceNorm1d as InstanceNorm1d
from .norm import InstanceNorm2d as InstanceNorm2d
from .norm import InstanceNorm3d as InstanceNorm3d
from .norm import LayerNorm as LayerNorm
from .norm import RMSNorm as RMSNorm
from .parameter import Parameter as Parameter
from .pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from .pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from .pooling import AvgPool1d as AvgPool1d
from .pooling import AvgPool2d as AvgPool2d
from .pooling import AvgPool3d as AvgPool3d
from .pooling import MaxPool1d as MaxPool1d
from .pooling import MaxPool2d as MaxPool2d
from .pooling import MaxPool3d as MaxPool3d
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .recurrent import RNN as RNN
from .transformer import TransformerEncoder as TransformerEncoder
from .transformer import TransformerEncoderLayer as TransformerEncoderLayer
