# The table of contents of `mg`, name by name: what is loaded from where when it is first used, and what editors offer.
# Laid out by scripts/phrasebook, which adds the methods that are functions: see api/functions/faces.py.

from . import (
    autograd as autograd, data as data, distributed as distributed, graph as graph, laws as laws, nn as nn,
    optim as optim, profiler as profiler, utils as utils,
)
from .api import cuda as cuda, fft as fft, func as func, linalg as linalg, special as special
from .api.func import vmap as vmap
from .api.functions.algebra import cdist as cdist, chain_matmul as chain_matmul, cross as cross, einsum as einsum
from .api.functions.creation import (
    Size as Size, arange as arange, as_tensor as as_tensor, detach as detach, empty as empty, empty_like as empty_like,
    eye as eye, from_numpy as from_numpy, full as full, full_like as full_like, is_floating_point as is_floating_point,
    is_nonzero as is_nonzero, is_tensor as is_tensor, linspace as linspace, logspace as logspace, ones as ones,
    ones_like as ones_like, result_type as result_type, tril_indices as tril_indices, triu_indices as triu_indices,
    zero_ as zero_, zeros as zeros, zeros_like as zeros_like,
)
from .api.functions.faces import (
    abs as abs, absolute as absolute, acos as acos, acosh as acosh, add as add, addbmm as addbmm, addcdiv as addcdiv,
    addcmul as addcmul, addmm as addmm, addmv as addmv, addr as addr, all as all, allclose as allclose, amax as amax,
    amin as amin, aminmax as aminmax, angle as angle, any as any, arccos as arccos, arccosh as arccosh,
    arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, argmax as argmax,
    argmin as argmin, argsort as argsort, argwhere as argwhere, asin as asin, asinh as asinh, atan as atan,
    atan2 as atan2, atanh as atanh,
    baddbmm as baddbmm, bincount as bincount, bitwise_and as bitwise_and, bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not, bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor, bmm as bmm, broadcast_to as broadcast_to,
    ceil as ceil, cholesky as cholesky, cholesky_inverse as cholesky_inverse, cholesky_solve as cholesky_solve,
    chunk as chunk, clamp as clamp, clamp_max as clamp_max, clamp_min as clamp_min, clip as clip, clone as clone,
    conj as conj, conj_physical as conj_physical, copysign as copysign, corrcoef as corrcoef, cos as cos, cosh as cosh,
    count_nonzero as count_nonzero, cov as cov, cummax as cummax, cummin as cummin, cumprod as cumprod,
    cumsum as cumsum, cumulative_trapezoid as cumulative_trapezoid,
    deg2rad as deg2rad, det as det, diag as diag, diag_embed as diag_embed, diagflat as diagflat, diagonal as diagonal,
    diagonal_scatter as diagonal_scatter, diff as diff, digamma as digamma, dist as dist, div as div, divide as divide,
    dot as dot, dsplit as dsplit,
    eq as eq, equal as equal, erf as erf, erfc as erfc, erfinv as erfinv, exp as exp, exp2 as exp2, expm1 as expm1,
    fix as fix, flatten as flatten, flip as flip, fliplr as fliplr, flipud as flipud, float_power as float_power,
    floor as floor, floor_divide as floor_divide, fmax as fmax, fmin as fmin, fmod as fmod, frac as frac,
    gather as gather, ge as ge, greater as greater, greater_equal as greater_equal, gt as gt,
    heaviside as heaviside, histc as histc, hsplit as hsplit, hypot as hypot,
    i0 as i0, index_add as index_add, index_copy as index_copy, index_fill as index_fill, index_put as index_put,
    index_reduce as index_reduce, index_select as index_select, inner as inner, inverse as inverse,
    is_same_size as is_same_size, is_signed as is_signed, isclose as isclose, isfinite as isfinite, isin as isin,
    isinf as isinf, isnan as isnan, isneginf as isneginf, isposinf as isposinf, isreal as isreal,
    kthvalue as kthvalue,
    ldexp as ldexp, le as le, lerp as lerp, less as less, less_equal as less_equal, lgamma as lgamma, log as log,
    log10 as log10, log1p as log1p, log2 as log2, log_softmax as log_softmax, logaddexp as logaddexp,
    logaddexp2 as logaddexp2, logcumsumexp as logcumsumexp, logdet as logdet, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, logit as logit,
    logsumexp as logsumexp, lt as lt,
    masked_fill as masked_fill, masked_scatter as masked_scatter, masked_select as masked_select, matmul as matmul,
    matrix_exp as matrix_exp, matrix_power as matrix_power, max as max, maximum as maximum, mean as mean,
    median as median, min as min, minimum as minimum, mm as mm, moveaxis as moveaxis, movedim as movedim,
    msort as msort, mul as mul, multiply as multiply, mv as mv, mvlgamma as mvlgamma,
    nan_to_num as nan_to_num, nanmean as nanmean, nansum as nansum, narrow as narrow, ne as ne, neg as neg,
    negative as negative, nonzero as nonzero, norm as norm, not_equal as not_equal, numel as numel,
    outer as outer,
    permute as permute, pinverse as pinverse, positive as positive, pow as pow, prod as prod, put as put,
    quantile as quantile,
    rad2deg as rad2deg, ravel as ravel, reciprocal as reciprocal, relu as relu, remainder as remainder,
    repeat_interleave as repeat_interleave, reshape as reshape, resolve_conj as resolve_conj,
    resolve_neg as resolve_neg, roll as roll, rot90 as rot90, round as round, rsqrt as rsqrt, rsub as rsub,
    scatter as scatter, scatter_add as scatter_add, scatter_reduce as scatter_reduce, select as select,
    select_scatter as select_scatter, sgn as sgn, sigmoid as sigmoid, sign as sign, signbit as signbit, sin as sin,
    sinc as sinc, sinh as sinh, slice_scatter as slice_scatter, slogdet as slogdet, softmax as softmax, sort as sort,
    split as split, split_with_sizes as split_with_sizes, sqrt as sqrt, square as square, squeeze as squeeze,
    std as std, std_mean as std_mean, sub as sub, subtract as subtract, sum as sum, swapaxes as swapaxes,
    swapdims as swapdims,
    t as t, take as take, take_along_dim as take_along_dim, tan as tan, tanh as tanh, tensor_split as tensor_split,
    tensordot as tensordot, tile as tile, topk as topk, trace as trace, transpose as transpose, trapezoid as trapezoid,
    trapz as trapz, tril as tril, triu as triu, true_divide as true_divide, trunc as trunc,
    unbind as unbind, unflatten as unflatten, unique as unique, unique_consecutive as unique_consecutive,
    unsqueeze as unsqueeze,
    var as var, var_mean as var_mean, vdot as vdot, vsplit as vsplit,
    xlogy as xlogy,
)
from .api.functions.indexing import bucketize as bucketize, searchsorted as searchsorted, where as where
from .api.functions.movement import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, block_diag as block_diag,
    broadcast_shapes as broadcast_shapes, broadcast_tensors as broadcast_tensors, cartesian_prod as cartesian_prod,
    cat as cat, column_stack as column_stack, combinations as combinations, concat as concat,
    concatenate as concatenate, dstack as dstack, hstack as hstack, kron as kron, meshgrid as meshgrid,
    row_stack as row_stack, stack as stack, vstack as vstack,
)
from .api.functions.random import (
    bernoulli as bernoulli, multinomial as multinomial, normal as normal, rand as rand, rand_like as rand_like,
    randint as randint, randint_like as randint_like, randn as randn, randn_like as randn_like, randperm as randperm,
)
from .api.special import polygamma as polygamma
from .autograd import (
    Function as Function, GradientTape as GradientTape, custom_gradient as custom_gradient, grad as grad,
    gradcheck as gradcheck, gradgradcheck as gradgradcheck,
)
from .course import widgets as widgets
from .draw import draw as draw
from .draw.side_by_side import compare as compare
from .engine import ops as ops, random as random
from .engine.base import errors as errors
from .engine.base.device import device as device
from .engine.base.dtypes import (
    bfloat16 as bfloat16, bool as bool, double as double, finfo as finfo, float as float, float16 as float16,
    float32 as float32, float64 as float64, half as half, iinfo as iinfo, int as int, int16 as int16, int32 as int32,
    int64 as int64, int8 as int8, long as long, promote_types as promote_types, short as short, uint8 as uint8,
)
from .engine.base.hardware import gpu_status as gpu_status
from .engine.base.threads import get_num_threads as get_num_threads, set_num_threads as set_num_threads
from .engine.core.modes import (
    enable_grad as enable_grad, inference_mode as inference_mode, is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled, no_grad as no_grad, set_grad_enabled as set_grad_enabled,
)
from .engine.random import (
    Generator as Generator, get_rng_state as get_rng_state, initial_seed as initial_seed, manual_seed as manual_seed,
    set_rng_state as set_rng_state,
)
from .engine.tensor.tensor import Tensor as Tensor, tensor as tensor
from .files import onnx as onnx, saving as saving
from .files.saving import load as load, save as save
from .graph import (
    Graph as Graph, Session as Session, TensorSpec as TensorSpec, Variable as Variable, assign as assign,
    compiler as compiler, cond as cond, constant as constant, control_dependencies as control_dependencies,
    custom_jvp as custom_jvp, custom_vjp as custom_vjp, eval_shape as eval_shape,
    executing_eagerly as executing_eagerly, function as function, get_collection as get_collection,
    global_variables as global_variables, global_variables_initializer as global_variables_initializer,
    gradients as gradients, group as group, jit as jit, lax as lax, make_jaxpr as make_jaxpr,
    placeholder as placeholder, print as print, probe as probe, py_func as py_func, stop_gradient as stop_gradient,
    trainable_variables as trainable_variables, while_loop as while_loop,
)
from .nn import amp as amp, functional as functional, quantization as quantization, zoo as zoo
from .nn.amp import autocast as autocast, is_autocast_enabled as is_autocast_enabled
from .nn.functional import cosine_similarity as cosine_similarity, cross_entropy as cross_entropy, mse_loss as mse_loss
from .nn.quantization import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine, quantize_per_channel as quantize_per_channel,
    quantize_per_tensor as quantize_per_tensor,
)
from .scalar.replay import replay as replay
from .scalar.value import Value as Value

__version__: str
