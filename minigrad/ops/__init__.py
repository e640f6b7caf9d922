"""The op table: everything minigrad can do, one class each. In the order to read it:

    leaf                                                      where graphs begin
    arithmetic comparison pointwise erf special activation loss     element by element
    movement joining placing identity                         the same elements in other places
    control                                                   several results, and an order
    reduce scan sort                                          many elements to one, to running ones, in order
    pattern index scatter overlay                             some of the elements, and writing there
    softmax standardise                                       rows brought to a common scale
    linalg einsum solving factors attention                           matrices
    window convolution pooling adaptive                       windows that slide
    carried recurrent                                         sequences
    quantile random                                           numbers drawn by a key
    state effect                                              variables of a graph; what does more than compute

blocks.py is no family: it takes a long elementwise op in pieces that fit the cache.
"""

from .activation import (
    Elu, Gelu, GeluDifferential, GeluTanh, GeluTanhDifferential, Hardswish, Hardtanh, LeakyRelu, LogSigmoid, Mish, Relu,
    ReluDifferential, Sigmoid, Silu, Softplus, Threshold,
)
from .adaptive import AdaptiveAvgPool, AdaptiveAvgUnpool, adaptive
from .arithmetic import (
    Add, Atan2, CopySign, Div, FloorDivide, Fmod, Hypot, LogAddExp, Mul, Neg, Pow, Power, Remainder, Sub, XLogY,
)
from .attention import Attention, AttentionWeights
from .carried import Carried
from .comparison import (
    And, Clamp, Equal, Greater, GreaterEqual, Heaviside, IsFinite, IsInf, IsNaN, Kept, Less, LessEqual, Maximum,
    Minimum, NanToNum, Not, NotEqual, Or, Where, Xor,
)
from .control import After, Piece, Row, StopGradient
from .convolution import Convolution, ConvolutionFilter, ConvolutionTranspose
from .effect import Keep, Print, PyFunc
from .einsum import Contract
from .erf import Erf, Erfc
from .factors import Exchanged, Lu, Orthonormal, Pivots, PseudoInverse, Svd
from .identity import Alias, Clone, Move, Several
from .index import Index, IndexAdd, IndexSet, Last
from .joining import Concatenate, Stack
from .leaf import Const, Input, Leaf, const
from .linalg import Affine, MatMul
from .loss import BinaryCrossEntropy
from .movement import BroadcastTo, Contiguous, Flip, Reshape, Roll, Transpose, View, worked_out
from .overlay import Overlay
from .pattern import ARRAY, Slice, pattern_of, steps_of
from .placing import Diagonal, OnDiagonal, Pad, Tril, Triu
from .pointwise import (
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Cast, Ceil, Cos, Cosh, Exp, Exp2, Expm1, Floor, Log, Log1p, Log2, Log10,
    Round, Rsqrt, Sign, Sin, Sinh, Sqrt, Tan, Tanh, Trunc,
)
from .pooling import ArgMaxPool, AvgPool, AvgUnpool, MaxPool, PutTaps, TakeTaps, TapPlaces
from .random import (
    FoldIn, NextKey, RandomBernoulli, RandomBits, RandomChoice, RandomIntegers, RandomNormal, RandomPermutation,
    RandomTruncatedNormal, RandomUniform, SplitKey,
)
from .recurrent import Elman, ElmanRelu, Gru, Lstm
from .reduce import All, Any, Max, Mean, Min, Norm, Prod, Std, Sum, SumOfProducts, Var
from .scan import ArgCumMax, ArgCumMin, CumProd, CumSum, LogCumSumExp, Recurrence, Shift
from .scatter import Gather, Scatter, ScatterAdd, SearchSorted
from .softmax import Chosen, CrossEntropy, LogSoftmax, LogSumExp, MinusOneHot, Softmax, SoftmaxMinusOneHot
from .solving import (
    Cholesky, Cofactors, Det, Eigenvalues, Eigenvectors, Inverse, LogAbsDet, MatrixExp, SignDet, Solve,
)
from .sort import ArgMax, ArgMin, ArgSort, ArgTopK
from .special import BesselI, ErfInv, PolyGamma
from .standardise import Centre, InverseRMS, RMSNormalise, Standardise
from .state import Assign, AssignAdd, AssignSub, Group, Read
from .window import Fold, Unfold, Window, Windows

TABLE = (
    *(Add, Sub, Mul, Div, Neg, Pow, Power, FloorDivide, Remainder, Fmod, Hypot, Atan2, CopySign),
    *(LogAddExp, XLogY),
    *(Greater, GreaterEqual, Less, LessEqual, Equal, NotEqual, IsNaN, IsInf, IsFinite, And, Or, Xor, Not, Kept, Where),
    *(Maximum, Minimum, Clamp, NanToNum, Heaviside),
    *(Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh),
    *(Acosh, Atanh, Abs, Sign, Floor, Ceil, Trunc, Round, Cast),
    *(Erf, Erfc, ErfInv, PolyGamma, BesselI),
    *(Sigmoid, LogSigmoid, Relu, ReluDifferential, LeakyRelu, Threshold, Hardtanh, Hardswish, Softplus, Elu, Silu),
    *(Mish, Gelu, GeluTanh, GeluDifferential, GeluTanhDifferential),
    BinaryCrossEntropy,
    *(Reshape, View, Contiguous, Transpose, BroadcastTo, Flip, Roll),
    *(Concatenate, Stack),
    *(Pad, Diagonal, OnDiagonal, Tril, Triu),
    *(Alias, Several, Clone, Move),
    *(Sum, Mean, SumOfProducts, Prod, Var, Std, Norm, Max, Min, All, Any),
    *(CumSum, Shift, Recurrence, CumProd, LogCumSumExp, ArgCumMax, ArgCumMin),
    *(ArgSort, ArgTopK, ArgMax, ArgMin),
    *(Index, IndexAdd, IndexSet, Last),
    *(Gather, ScatterAdd, Scatter, SearchSorted),
    *(Softmax, LogSoftmax, LogSumExp, CrossEntropy, SoftmaxMinusOneHot, Chosen, MinusOneHot),
    *(Centre, InverseRMS, RMSNormalise, Standardise),
    Overlay,
    *(MatMul, Affine),
    Contract,
    *(Inverse, Solve, Det, Cofactors, LogAbsDet, SignDet, Cholesky, Eigenvalues, Eigenvectors),
    *(Svd, Orthonormal, PseudoInverse, MatrixExp, Pivots, Exchanged, Lu),
    *(AttentionWeights, Attention),
    *(Unfold, Windows, Fold),
    *(Convolution, ConvolutionTranspose, ConvolutionFilter),
    *(MaxPool, ArgMaxPool, TakeTaps, PutTaps, TapPlaces, AvgPool, AvgUnpool),
    *(AdaptiveAvgPool, AdaptiveAvgUnpool),
    Carried,
    *(Elman, ElmanRelu, Gru, Lstm),
    *(RandomBits, RandomUniform, RandomNormal, RandomTruncatedNormal, RandomBernoulli, RandomIntegers),
    *(RandomPermutation, SplitKey, FoldIn, RandomChoice),
)
