"""Networks: layers that hold parameters, and the functions between them. Names are PyTorch's.

tree, module        the base of every layer: named parameters, buffers and submodules; state, hooks, forward
container           modules made of modules
init                initial values of parameters
linear, norm        layers with a weight: matrices, tables, convolutions; a scale and a shift
functional_layer    functions of mg.functional with stored options: activations, dropout, pooling, padding, losses
recurrent           layers that read a sequence element by element
attention           layers that read a whole sequence at once: the transformer
utils               gradient clipping, pruning, sequences of different lengths
"""

import sys

from . import functional as functional
from . import init as init, utils as utils
from .attention import (
    MultiheadAttention as MultiheadAttention, Transformer as Transformer, TransformerDecoder as TransformerDecoder,
    TransformerDecoderLayer as TransformerDecoderLayer, TransformerEncoder as TransformerEncoder,
    TransformerEncoderLayer as TransformerEncoderLayer,
)
from .container import (
    Flatten as Flatten, Identity as Identity, ModuleDict as ModuleDict, ModuleList as ModuleList,
    ParameterDict as ParameterDict, ParameterList as ParameterList, Sequential as Sequential, Unflatten as Unflatten,
)
from .functional_layer import (
    AdaptiveAvgPool1d as AdaptiveAvgPool1d, AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AdaptiveAvgPool3d as AdaptiveAvgPool3d, AdaptiveMaxPool1d as AdaptiveMaxPool1d,
    AdaptiveMaxPool2d as AdaptiveMaxPool2d, AdaptiveMaxPool3d as AdaptiveMaxPool3d, AlphaDropout as AlphaDropout,
    AvgPool1d as AvgPool1d, AvgPool2d as AvgPool2d, AvgPool3d as AvgPool3d,
    BCELoss as BCELoss, BCEWithLogitsLoss as BCEWithLogitsLoss,
    CELU as CELU, CTCLoss as CTCLoss, ChannelShuffle as ChannelShuffle, CircularPad1d as CircularPad1d,
    CircularPad2d as CircularPad2d, CircularPad3d as CircularPad3d, ConstantPad1d as ConstantPad1d,
    ConstantPad2d as ConstantPad2d, ConstantPad3d as ConstantPad3d, CosineEmbeddingLoss as CosineEmbeddingLoss,
    CosineSimilarity as CosineSimilarity, CrossEntropyLoss as CrossEntropyLoss,
    Dropout as Dropout, Dropout1d as Dropout1d, Dropout2d as Dropout2d, Dropout3d as Dropout3d,
    ELU as ELU,
    FeatureAlphaDropout as FeatureAlphaDropout, Fold as Fold, FractionalMaxPool2d as FractionalMaxPool2d,
    FractionalMaxPool3d as FractionalMaxPool3d,
    GELU as GELU, GLU as GLU, GaussianNLLLoss as GaussianNLLLoss,
    Hardshrink as Hardshrink, Hardsigmoid as Hardsigmoid, Hardswish as Hardswish, Hardtanh as Hardtanh,
    HingeEmbeddingLoss as HingeEmbeddingLoss, HuberLoss as HuberLoss,
    KLDivLoss as KLDivLoss,
    L1Loss as L1Loss, LPPool1d as LPPool1d, LPPool2d as LPPool2d, LPPool3d as LPPool3d, LeakyReLU as LeakyReLU,
    LocalResponseNorm as LocalResponseNorm, LogSigmoid as LogSigmoid, LogSoftmax as LogSoftmax,
    MSELoss as MSELoss, MarginRankingLoss as MarginRankingLoss, MaxPool1d as MaxPool1d, MaxPool2d as MaxPool2d,
    MaxPool3d as MaxPool3d, MaxUnpool1d as MaxUnpool1d, MaxUnpool2d as MaxUnpool2d, MaxUnpool3d as MaxUnpool3d,
    Mish as Mish, MultiLabelMarginLoss as MultiLabelMarginLoss, MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss,
    MultiMarginLoss as MultiMarginLoss,
    NLLLoss as NLLLoss,
    PReLU as PReLU, PairwiseDistance as PairwiseDistance, PixelShuffle as PixelShuffle,
    PixelUnshuffle as PixelUnshuffle, PoissonNLLLoss as PoissonNLLLoss,
    RReLU as RReLU, ReLU as ReLU, ReLU6 as ReLU6, ReflectionPad1d as ReflectionPad1d,
    ReflectionPad2d as ReflectionPad2d, ReflectionPad3d as ReflectionPad3d, ReplicationPad1d as ReplicationPad1d,
    ReplicationPad2d as ReplicationPad2d, ReplicationPad3d as ReplicationPad3d,
    SELU as SELU, SiLU as SiLU, Sigmoid as Sigmoid, SmoothL1Loss as SmoothL1Loss, SoftMarginLoss as SoftMarginLoss,
    Softmax as Softmax, Softmax2d as Softmax2d, Softmin as Softmin, Softplus as Softplus, Softshrink as Softshrink,
    Softsign as Softsign,
    Tanh as Tanh, Tanhshrink as Tanhshrink, Threshold as Threshold, TripletMarginLoss as TripletMarginLoss,
    TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss,
    Unfold as Unfold, Upsample as Upsample, UpsamplingBilinear2d as UpsamplingBilinear2d,
    UpsamplingNearest2d as UpsamplingNearest2d,
    ZeroPad1d as ZeroPad1d, ZeroPad2d as ZeroPad2d, ZeroPad3d as ZeroPad3d,
)
from .linear import (
    Bilinear as Bilinear, Conv1d as Conv1d, Conv2d as Conv2d, Conv3d as Conv3d, ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d, ConvTranspose3d as ConvTranspose3d, Embedding as Embedding,
    EmbeddingBag as EmbeddingBag, Linear as Linear,
)
from .module import Module as Module
from .norm import (
    BatchNorm1d as BatchNorm1d, BatchNorm2d as BatchNorm2d, BatchNorm3d as BatchNorm3d, GroupNorm as GroupNorm,
    InstanceNorm1d as InstanceNorm1d, InstanceNorm2d as InstanceNorm2d, InstanceNorm3d as InstanceNorm3d,
    LayerNorm as LayerNorm, RMSNorm as RMSNorm,
)
from .recurrent import (
    GRU as GRU, GRUCell as GRUCell, LSTM as LSTM, LSTMCell as LSTMCell, RNN as RNN, RNNCell as RNNCell,
)
from .tree import Parameter as Parameter

sys.modules[f"{__name__}.functional"] = functional  # lets users write `import minigrad.nn.functional as F`
