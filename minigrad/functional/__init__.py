"""Functions made of ops, with PyTorch's names: `mg.functional`, and the same package as `mg.nn.functional`.

    activation        between the layers: softmax and its kin
    dense             layers that multiply by a matrix
    convolution       small windows that slide over images and sequences
    pooling           one number for each window
    sparse            tables and the indices into them
    similarity        how alike two vectors are
    normalise         mean 0 and variance 1
    dropout           elements left out at random
    attention         means weighted by how well a key fits a query
    loss              how far from the target: numbers
    classification    how far from the target: classes
    margin            how far from the target: right by far enough
    ctc               how far from the target: letters, whenever they are said
    resize, sampling  pictures in other sizes, and read between their places

Differentiation is the ops' business: nothing here says a derivative.
"""

from ..functions.activation import celu as celu
from ..functions.activation import elu as elu
from ..functions.activation import gelu as gelu
from ..functions.activation import glu as glu
from ..functions.activation import hardshrink as hardshrink
from ..functions.activation import hardsigmoid as hardsigmoid
from ..functions.activation import hardswish as hardswish
from ..functions.activation import hardtanh as hardtanh
from ..functions.activation import leaky_relu as leaky_relu
from ..functions.activation import logsigmoid as logsigmoid
from ..functions.activation import mish as mish
from ..functions.activation import prelu as prelu
from ..functions.activation import relu as relu
from ..functions.activation import relu6 as relu6
from ..functions.activation import selu as selu
from ..functions.activation import sigmoid as sigmoid
from ..functions.activation import silu as silu
from ..functions.activation import softplus as softplus
from ..functions.activation import softshrink as softshrink
from ..functions.activation import softsign as softsign
from ..functions.activation import tanh as tanh
from ..functions.activation import tanhshrink as tanhshrink
from ..functions.activation import threshold as threshold
from ..functions.indexing import one_hot as one_hot
from ..functions.movement import pad as pad
from .activation import cosine_similarity as cosine_similarity
from .activation import log_softmax as log_softmax
from .activation import pairwise_distance as pairwise_distance
from .activation import pdist as pdist
from .activation import softmax as softmax
from .activation import softmin as softmin
from .attention import scaled_dot_product_attention as scaled_dot_product_attention
from .bounds import where as where
from .convolution import bilinear as bilinear
from .convolution import conv1d as conv1d
from .convolution import conv2d as conv2d
from .convolution import conv3d as conv3d
from .convolution import conv_transpose1d as conv_transpose1d
from .convolution import conv_transpose2d as conv_transpose2d
from .convolution import conv_transpose3d as conv_transpose3d
from .convolution import fold as fold
from .convolution import linear as linear
from .convolution import unfold as unfold
from .dropout import alpha_dropout as alpha_dropout
from .dropout import dropout as dropout
from .dropout import dropout1d as dropout1d
from .dropout import dropout2d as dropout2d
from .dropout import dropout3d as dropout3d
from .dropout import feature_alpha_dropout as feature_alpha_dropout
from .dropout import gumbel_softmax as gumbel_softmax
from .dropout import rrelu as rrelu
from .loss import binary_cross_entropy as binary_cross_entropy
from .loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .loss import cross_entropy as cross_entropy
from .loss import gaussian_nll_loss as gaussian_nll_loss
from .loss import huber_loss as huber_loss
from .loss import kl_div as kl_div
from .loss import l1_loss as l1_loss
from .loss import mse_loss as mse_loss
from .loss import nll_loss as nll_loss
from .loss import poisson_nll_loss as poisson_nll_loss
from .loss import smooth_l1_loss as smooth_l1_loss
from .margin import cosine_embedding_loss as cosine_embedding_loss
from .margin import ctc_loss as ctc_loss
from .margin import hinge_embedding_loss as hinge_embedding_loss
from .margin import margin_ranking_loss as margin_ranking_loss
from .margin import multi_margin_loss as multi_margin_loss
from .margin import multilabel_margin_loss as multilabel_margin_loss
from .margin import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .margin import soft_margin_loss as soft_margin_loss
from .margin import triplet_margin_loss as triplet_margin_loss
from .margin import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from .normalisation import batch_norm as batch_norm
from .normalisation import group_norm as group_norm
from .normalisation import instance_norm as instance_norm
from .normalisation import layer_norm as layer_norm
from .normalisation import normalize as normalize
from .normalisation import rms_norm as rms_norm
from .pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from .pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from .pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from .pooling import adaptive_max_pool1d as adaptive_max_pool1d
from .pooling import adaptive_max_pool2d as adaptive_max_pool2d
from .pooling import adaptive_max_pool3d as adaptive_max_pool3d
from .pooling import avg_pool1d as avg_pool1d
from .pooling import avg_pool2d as avg_pool2d
from .pooling import avg_pool3d as avg_pool3d
from .pooling import fractional_max_pool2d as fractional_max_pool2d
from .pooling import fractional_max_pool3d as fractional_max_pool3d
from .pooling import local_response_norm as local_response_norm
from .pooling import lp_pool1d as lp_pool1d
from .pooling import lp_pool2d as lp_pool2d
from .pooling import lp_pool3d as lp_pool3d
from .pooling import max_pool1d as max_pool1d
from .pooling import max_pool2d as max_pool2d
from .pooling import max_pool3d as max_pool3d
from .pooling import max_unpool1d as max_unpool1d
from .pooling import max_unpool2d as max_unpool2d
from .pooling import max_unpool3d as max_unpool3d
from .sparse import embedding as embedding
from .sparse import embedding_bag as embedding_bag
from .vision import affine_grid as affine_grid
from .vision import channel_shuffle as channel_shuffle
from .vision import grid_sample as grid_sample
from .vision import interpolate as interpolate
from .vision import pixel_shuffle as pixel_shuffle
from .vision import pixel_unshuffle as pixel_unshuffle
from .vision import upsample_bilinear as upsample_bilinear
from .vision import upsample_nearest as upsample_nearest
