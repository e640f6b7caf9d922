"""Functions made of ops, with PyTorch's names. Both `mg.functional` and `mg.nn.functional` are this package.

    activation       softmax and its variants, similarity, dropout, attention
    convolution      products with a matrix; convolutions over images and sequences
    pooling          one number for each window
    indexing         lookups in a table, by index
    normalisation    mean 0 and variance 1
    loss             distances to a target: numbers, classes, margins, letter sequences
    vision           resizing images, and sampling them between pixels

The ops define their own derivatives, so this package defines none.
"""

from ...api.functions.activation import (
    celu as celu, elu as elu, gelu as gelu, glu as glu, hardshrink as hardshrink, hardsigmoid as hardsigmoid,
    hardswish as hardswish, hardtanh as hardtanh, leaky_relu as leaky_relu, logsigmoid as logsigmoid, mish as mish,
    prelu as prelu, relu as relu, relu6 as relu6, selu as selu, silu as silu, softplus as softplus,
    softshrink as softshrink, softsign as softsign, tanhshrink as tanhshrink, threshold as threshold,
)
from ...api.functions.faces import log_softmax as log_softmax, sigmoid as sigmoid, softmax as softmax, tanh as tanh
from ...api.functions.indexing import one_hot as one_hot, where as where
from ...api.functions.movement import pad as pad
from .activation import (
    alpha_dropout as alpha_dropout, cosine_similarity as cosine_similarity, dropout as dropout, dropout1d as dropout1d,
    dropout2d as dropout2d, dropout3d as dropout3d, feature_alpha_dropout as feature_alpha_dropout,
    gumbel_softmax as gumbel_softmax, pairwise_distance as pairwise_distance, pdist as pdist, rrelu as rrelu,
    scaled_dot_product_attention as scaled_dot_product_attention, softmin as softmin,
)
from .convolution import (
    bilinear as bilinear, conv1d as conv1d, conv2d as conv2d, conv3d as conv3d, conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d, conv_transpose3d as conv_transpose3d, fold as fold, linear as linear,
    unfold as unfold,
)
from .indexing import embedding as embedding, embedding_bag as embedding_bag
from .loss import (
    binary_cross_entropy as binary_cross_entropy, binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cosine_embedding_loss as cosine_embedding_loss, cross_entropy as cross_entropy, ctc_loss as ctc_loss,
    gaussian_nll_loss as gaussian_nll_loss, hinge_embedding_loss as hinge_embedding_loss, huber_loss as huber_loss,
    kl_div as kl_div, l1_loss as l1_loss, margin_ranking_loss as margin_ranking_loss, mse_loss as mse_loss,
    multi_margin_loss as multi_margin_loss, multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss, nll_loss as nll_loss,
    poisson_nll_loss as poisson_nll_loss, smooth_l1_loss as smooth_l1_loss, soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss, triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from .normalisation import (
    batch_norm as batch_norm, group_norm as group_norm, instance_norm as instance_norm, layer_norm as layer_norm,
    normalize as normalize, rms_norm as rms_norm,
)
from .pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d, adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d, adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d, adaptive_max_pool3d as adaptive_max_pool3d, avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d, avg_pool3d as avg_pool3d, fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool3d as fractional_max_pool3d, local_response_norm as local_response_norm, lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d, lp_pool3d as lp_pool3d, max_pool1d as max_pool1d, max_pool2d as max_pool2d,
    max_pool3d as max_pool3d, max_unpool1d as max_unpool1d, max_unpool2d as max_unpool2d, max_unpool3d as max_unpool3d,
)
from .vision import (
    affine_grid as affine_grid, channel_shuffle as channel_shuffle, grid_sample as grid_sample,
    interpolate as interpolate, pixel_shuffle as pixel_shuffle, pixel_unshuffle as pixel_unshuffle,
    upsample_bilinear as upsample_bilinear, upsample_nearest as upsample_nearest,
)
