"""Functions made of ops, with PyTorch's names: `mg.functional`, and the same package as `mg.nn.functional`.

    activation       softmax and its kin, likeness, dropout, attention
    convolution      layers that multiply by a matrix; small windows that slide over images and sequences
    pooling          one number for each window
    indexing         tables and the indices into them
    normalisation    mean 0 and variance 1
    loss             how far from the target: numbers, classes, margins, sequences of letters
    vision           pictures in other sizes, and read between their places

Differentiation is the ops' business: nothing here says a derivative.
"""

from ..functions.activation import (
    celu, elu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, prelu, relu,
    relu6, selu, silu, softplus, softshrink, softsign, tanhshrink, threshold,
)
from ..functions.faces import log_softmax, sigmoid, softmax, tanh
from ..functions.indexing import one_hot
from ..functions.movement import pad
from .activation import (
    alpha_dropout, cosine_similarity, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, gumbel_softmax,
    pairwise_distance, pdist, rrelu, scaled_dot_product_attention, softmin,
)
from .convolution import (
    bilinear, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, fold, linear, unfold,
)
from .indexing import embedding, embedding_bag, where
from .loss import (
    binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy, ctc_loss,
    gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss,
    multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, nll_loss, poisson_nll_loss, smooth_l1_loss,
    soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss,
)
from .normalisation import batch_norm, group_norm, instance_norm, layer_norm, normalize, rms_norm
from .pooling import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, fractional_max_pool2d, fractional_max_pool3d,
    local_response_norm, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool2d, max_pool3d, max_unpool1d,
    max_unpool2d, max_unpool3d,
)
from .vision import (
    affine_grid, channel_shuffle, grid_sample, interpolate, pixel_shuffle, pixel_unshuffle, upsample_bilinear,
    upsample_nearest,
)
