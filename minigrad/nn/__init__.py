"""Networks: layers that hold parameters, and the functions between them. Names are PyTorch's.

tree, module        what every layer is: parameters, buffers and parts by name; state, hooks, forward
container           modules made of modules
init                where parameters start
linear, norm        layers with a weight: matrices, tables, convolutions; a scale and a shift
functional_layer    functions of mg.functional with their options held: activations, dropout, pooling, padding, losses
recurrent           sequences, element by element
attention           sequences, all at once: the transformer
utils               gradients clipped, sequences of different lengths
"""

from .. import functional
from . import init, utils
from .attention import (
    MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer,
)
from .container import Flatten, Identity, ModuleDict, ModuleList, ParameterList, Sequential, Unflatten
from .functional_layer import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
    AlphaDropout, AvgPool1d, AvgPool2d, AvgPool3d, BCELoss, BCEWithLogitsLoss, CELU, ChannelShuffle, CircularPad1d,
    CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, CosineEmbeddingLoss, CosineSimilarity,
    CrossEntropyLoss, CTCLoss, Dropout, Dropout1d, Dropout2d, Dropout3d, ELU, FeatureAlphaDropout, Fold,
    GaussianNLLLoss, GELU, GLU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, HingeEmbeddingLoss, HuberLoss, KLDivLoss,
    L1Loss, LeakyReLU, LocalResponseNorm, LogSigmoid, LogSoftmax, LPPool1d, LPPool2d, LPPool3d, MarginRankingLoss,
    MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d, Mish, MSELoss, MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss, PairwiseDistance, PixelShuffle, PixelUnshuffle, PoissonNLLLoss,
    PReLU, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReLU, ReLU6, ReplicationPad1d, ReplicationPad2d,
    ReplicationPad3d, RReLU, SELU, Sigmoid, SiLU, SmoothL1Loss, SoftMarginLoss, Softmax, Softmax2d, Softmin, Softplus,
    Softshrink, Softsign, Tanh, Tanhshrink, Threshold, TripletMarginLoss, TripletMarginWithDistanceLoss, Unfold,
    Upsample, UpsamplingBilinear2d, UpsamplingNearest2d, ZeroPad1d, ZeroPad2d, ZeroPad3d,
)
from .linear import (
    Bilinear, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Embedding, EmbeddingBag,
    Linear,
)
from .module import Module
from .norm import (
    BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm,
    RMSNorm,
)
from .recurrent import GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell
from .tree import Parameter
