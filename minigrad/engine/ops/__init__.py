"""The op table: one class for each op of minigrad. Read the files in this order:

    leaf                                                      the leaves of graphs
    arithmetic comparison pointwise special activation        elementwise ops
    movement                                                  the same elements in other places
    reduce scan sort                                          reductions, running totals, sorting
    pattern index                                             reading and writing some of the elements
    normalise                                                 rescaling of rows: softmax, standardising
    matmul linalg                                             matrices
    convolution pooling                                       sliding windows
    recurrent                                                 sequences
    random                                                    random numbers from a key
    effect                                                    variables of a graph; side effects
"""

from ..core.op import Op
from .convolution import Window
from .effect import Assign, Cotangents
from .leaf import const
from .movement import resolve_shape
from .pattern import ARRAY, Slice, pattern_of, steps_of
from .pooling import adaptive

# -- written by scripts/phrasebook: the ops -----------------------------------------------------
from .activation import (
    BinaryCrossEntropy, Elu, Gelu, GeluDifferential, GeluTanh, GeluTanhDifferential, Hardswish, Hardtanh, LeakyRelu,
    LogSigmoid, Mish, Relu, ReluDifferential, Sigmoid, Silu, Softplus, Threshold,
)
from .arithmetic import (
    Add, Atan2, CopySign, Div, FloorDivide, Fmod, Hypot, LogAddExp, Mul, Neg, Pow, Power, Remainder, Sub, XLogY,
)
from .comparison import (
    And, Clamp, Equal, FakeQuantize, Greater, GreaterEqual, Heaviside, IsFinite, IsInf, IsNaN, Kept, Less, LessEqual,
    Maximum, Minimum, NanToNum, Not, NotEqual, Or, Quantize, Where, Xor,
)
from .convolution import Convolution, ConvolutionFilter, ConvolutionTranspose, Fold, Unfold, Windows
from .effect import AssignAdd, AssignSub, Barrier, ControlDep, Group, Keep, Print, PyFunc, Read, StopGradient, TupleGet
from .index import Gather, Index, IndexAdd, IndexSet, Last, Scatter, ScatterAdd, SearchSorted
from .leaf import Alias, Clone, Const, Input, Leaf, Move, OfShape, Several, Within
from .linalg import (
    Cholesky, Cofactors, Det, Eigenvalues, Eigenvectors, Exchanged, Inverse, LogAbsDet, Lu, MatrixExp, Orthonormal,
    Pivots, PseudoInverse, SignDet, Solve, Svd,
)
from .matmul import Affine, Attention, AttentionWeights, Contract, MatMul
from .movement import (
    BroadcastTo, Concatenate, Contiguous, Diagonal, Flip, OnDiagonal, Pad, Reshape, Roll, Stack, Transpose, Tril, Triu,
    View, ViewScatter,
)
from .normalise import (
    Centre, Chosen, CrossEntropy, InverseRMS, LogSoftmax, LogSumExp, MinusOneHot, RMSNormalise, Softmax,
    SoftmaxMinusOneHot, Standardise,
)
from .pointwise import (
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Cast, Ceil, Cos, Cosh, Exp, Exp2, Expm1, Floor, Log, Log10, Log1p, Log2,
    Round, Rsqrt, Sign, Sin, Sinh, Sqrt, Tan, Tanh, Trunc,
)
from .pooling import (
    AdaptiveAvgPool, AdaptiveAvgUnpool, ArgMaxPool, AvgPool, AvgUnpool, MaxPool, PutTaps, TakeTaps, TapPlaces,
)
from .random import (
    FoldIn, NextKey, RandomBernoulli, RandomBits, RandomChoice, RandomIntegers, RandomNormal, RandomPermutation,
    RandomTruncatedNormal, RandomUniform, SplitKey,
)
from .recurrent import Elman, ElmanRelu, Gru, LinearRecurrence, Lstm
from .reduce import All, Any, Max, Mean, Min, Norm, Prod, Std, Sum, SumOfProducts, Var
from .scan import ArgCumMax, ArgCumMin, CumProd, CumSum, LogCumSumExp, Recurrence, Shift
from .sort import ArgMax, ArgMin, ArgSort, ArgTopK
from .special import BesselI, Erf, ErfInv, Erfc, PolyGamma
# -- to here --------------------------------------------------------------------------------------

# The ops that laws.py checks: those with a forward and without side effects, except the ones in effect.py.
TABLE = tuple(
    op
    for op in tuple(vars().values())
    if isinstance(op, type) and issubclass(op, Op) and op.forward is not Op.forward
    if not op.effect and op.__module__ != Cotangents.__module__
)
