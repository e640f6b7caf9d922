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

from .activation import Elu as Elu
from .activation import Gelu as Gelu
from .activation import GeluDifferential as GeluDifferential
from .activation import GeluTanh as GeluTanh
from .activation import GeluTanhDifferential as GeluTanhDifferential
from .activation import Hardswish as Hardswish
from .activation import Hardtanh as Hardtanh
from .activation import LeakyRelu as LeakyRelu
from .activation import LogSigmoid as LogSigmoid
from .activation import Mish as Mish
from .activation import Relu as Relu
from .activation import ReluDifferential as ReluDifferential
from .activation import Sigmoid as Sigmoid
from .activation import Silu as Silu
from .activation import Softplus as Softplus
from .activation import Threshold as Threshold
from .adaptive import AdaptiveAvgPool as AdaptiveAvgPool
from .adaptive import AdaptiveAvgUnpool as AdaptiveAvgUnpool
from .adaptive import adaptive as adaptive
from .arithmetic import Add as Add
from .arithmetic import Atan2 as Atan2
from .arithmetic import CopySign as CopySign
from .arithmetic import Div as Div
from .arithmetic import FloorDivide as FloorDivide
from .arithmetic import Fmod as Fmod
from .arithmetic import Hypot as Hypot
from .arithmetic import LogAddExp as LogAddExp
from .arithmetic import Mul as Mul
from .arithmetic import Neg as Neg
from .arithmetic import Pow as Pow
from .arithmetic import Power as Power
from .arithmetic import Remainder as Remainder
from .arithmetic import Sub as Sub
from .arithmetic import XLogY as XLogY
from .attention import Attention as Attention
from .attention import AttentionWeights as AttentionWeights
from .carried import Carried as Carried
from .comparison import And as And
from .comparison import Clamp as Clamp
from .comparison import Equal as Equal
from .comparison import Greater as Greater
from .comparison import GreaterEqual as GreaterEqual
from .comparison import Heaviside as Heaviside
from .comparison import IsFinite as IsFinite
from .comparison import IsInf as IsInf
from .comparison import IsNaN as IsNaN
from .comparison import Kept as Kept
from .comparison import Less as Less
from .comparison import LessEqual as LessEqual
from .comparison import Maximum as Maximum
from .comparison import Minimum as Minimum
from .comparison import NanToNum as NanToNum
from .comparison import Not as Not
from .comparison import NotEqual as NotEqual
from .comparison import Or as Or
from .comparison import Where as Where
from .comparison import Xor as Xor
from .control import After as After
from .control import Piece as Piece
from .control import Row as Row
from .control import StopGradient as StopGradient
from .convolution import Convolution as Convolution
from .convolution import ConvolutionFilter as ConvolutionFilter
from .convolution import ConvolutionTranspose as ConvolutionTranspose
from .effect import Keep as Keep
from .effect import Print as Print
from .effect import PyFunc as PyFunc
from .einsum import Contract as Contract
from .erf import Erf as Erf
from .erf import Erfc as Erfc
from .factors import Orthonormal as Orthonormal
from .factors import PseudoInverse as PseudoInverse
from .factors import Svd as Svd
from .identity import Alias as Alias
from .identity import Clone as Clone
from .identity import Move as Move
from .identity import Several as Several
from .index import Index as Index
from .index import IndexAdd as IndexAdd
from .index import IndexSet as IndexSet
from .index import Last as Last
from .joining import Concatenate as Concatenate
from .joining import Stack as Stack
from .leaf import Const as Const
from .leaf import Input as Input
from .leaf import Leaf as Leaf
from .leaf import const as const
from .linalg import Affine as Affine
from .linalg import MatMul as MatMul
from .loss import BinaryCrossEntropy as BinaryCrossEntropy
from .movement import BroadcastTo as BroadcastTo
from .movement import Contiguous as Contiguous
from .movement import Flip as Flip
from .movement import Reshape as Reshape
from .movement import Roll as Roll
from .movement import Transpose as Transpose
from .movement import View as View
from .movement import worked_out as worked_out
from .overlay import Overlay as Overlay
from .pattern import ARRAY as ARRAY
from .pattern import Slice as Slice
from .pattern import pattern_of as pattern_of
from .pattern import steps_of as steps_of
from .placing import Diagonal as Diagonal
from .placing import OnDiagonal as OnDiagonal
from .placing import Pad as Pad
from .placing import Tril as Tril
from .placing import Triu as Triu
from .pointwise import Abs as Abs
from .pointwise import Acos as Acos
from .pointwise import Acosh as Acosh
from .pointwise import Asin as Asin
from .pointwise import Asinh as Asinh
from .pointwise import Atan as Atan
from .pointwise import Atanh as Atanh
from .pointwise import Cast as Cast
from .pointwise import Ceil as Ceil
from .pointwise import Cos as Cos
from .pointwise import Cosh as Cosh
from .pointwise import Exp as Exp
from .pointwise import Exp2 as Exp2
from .pointwise import Expm1 as Expm1
from .pointwise import Floor as Floor
from .pointwise import Log as Log
from .pointwise import Log1p as Log1p
from .pointwise import Log2 as Log2
from .pointwise import Log10 as Log10
from .pointwise import Round as Round
from .pointwise import Rsqrt as Rsqrt
from .pointwise import Sign as Sign
from .pointwise import Sin as Sin
from .pointwise import Sinh as Sinh
from .pointwise import Sqrt as Sqrt
from .pointwise import Tan as Tan
from .pointwise import Tanh as Tanh
from .pointwise import Trunc as Trunc
from .pooling import ArgMaxPool as ArgMaxPool
from .pooling import AvgPool as AvgPool
from .pooling import AvgUnpool as AvgUnpool
from .pooling import MaxPool as MaxPool
from .pooling import PutTaps as PutTaps
from .pooling import TakeTaps as TakeTaps
from .pooling import TapPlaces as TapPlaces
from .random import FoldIn as FoldIn
from .random import NextKey as NextKey
from .random import RandomBernoulli as RandomBernoulli
from .random import RandomBits as RandomBits
from .random import RandomChoice as RandomChoice
from .random import RandomIntegers as RandomIntegers
from .random import RandomNormal as RandomNormal
from .random import RandomPermutation as RandomPermutation
from .random import RandomTruncatedNormal as RandomTruncatedNormal
from .random import RandomUniform as RandomUniform
from .random import SplitKey as SplitKey
from .recurrent import Elman as Elman
from .recurrent import ElmanRelu as ElmanRelu
from .recurrent import Gru as Gru
from .recurrent import Lstm as Lstm
from .reduce import All as All
from .reduce import Any as Any
from .reduce import Max as Max
from .reduce import Mean as Mean
from .reduce import Min as Min
from .reduce import Norm as Norm
from .reduce import Prod as Prod
from .reduce import Std as Std
from .reduce import Sum as Sum
from .reduce import SumOfProducts as SumOfProducts
from .reduce import Var as Var
from .scan import ArgCumMax as ArgCumMax
from .scan import ArgCumMin as ArgCumMin
from .scan import CumProd as CumProd
from .scan import CumSum as CumSum
from .scan import LogCumSumExp as LogCumSumExp
from .scan import Recurrence as Recurrence
from .scan import Shift as Shift
from .scatter import Gather as Gather
from .scatter import Scatter as Scatter
from .scatter import ScatterAdd as ScatterAdd
from .scatter import SearchSorted as SearchSorted
from .softmax import Chosen as Chosen
from .softmax import CrossEntropy as CrossEntropy
from .softmax import LogSoftmax as LogSoftmax
from .softmax import LogSumExp as LogSumExp
from .softmax import MinusOneHot as MinusOneHot
from .softmax import Softmax as Softmax
from .softmax import SoftmaxMinusOneHot as SoftmaxMinusOneHot
from .solving import Cholesky as Cholesky
from .solving import Cofactors as Cofactors
from .solving import Det as Det
from .solving import Eigenvalues as Eigenvalues
from .solving import Eigenvectors as Eigenvectors
from .solving import Inverse as Inverse
from .solving import LogAbsDet as LogAbsDet
from .solving import SignDet as SignDet
from .solving import Solve as Solve
from .sort import ArgMax as ArgMax
from .sort import ArgMin as ArgMin
from .sort import ArgSort as ArgSort
from .sort import ArgTopK as ArgTopK
from .special import ErfInv as ErfInv
from .special import PolyGamma as PolyGamma
from .standardise import Centre as Centre
from .standardise import InverseRMS as InverseRMS
from .standardise import RMSNormalise as RMSNormalise
from .standardise import Standardise as Standardise
from .state import Assign as Assign
from .state import AssignAdd as AssignAdd
from .state import AssignSub as AssignSub
from .state import Group as Group
from .state import Read as Read
from .window import Fold as Fold
from .window import Unfold as Unfold
from .window import Window as Window
from .window import Windows as Windows

TABLE = (
    *(Add, Sub, Mul, Div, Neg, Pow, Power, FloorDivide, Remainder, Fmod, Hypot, Atan2, CopySign),
    *(LogAddExp, XLogY),
    *(Greater, GreaterEqual, Less, LessEqual, Equal, NotEqual, IsNaN, IsInf, IsFinite, And, Or, Xor, Not, Kept, Where),
    *(Maximum, Minimum, Clamp, NanToNum, Heaviside),
    *(Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh),
    *(Acosh, Atanh, Abs, Sign, Floor, Ceil, Trunc, Round, Cast),
    *(Erf, Erfc, ErfInv, PolyGamma),
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
    *(Svd, Orthonormal, PseudoInverse),
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
