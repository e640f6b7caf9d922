"""The op table: everything minigrad can do, one class each. In the order to read it:

    leaf                                                      where graphs begin
    arithmetic comparison pointwise special activation        element by element
    movement                                                  the same elements in other places
    reduce scan sort                                          many elements to one, to running ones, in order
    pattern index                                             some of the elements, and writing there
    softmax standardise                                       rows brought to a common scale
    product factor                                            matrices
    convolution pooling                                       windows that slide
    recurrent                                                 sequences
    random                                                    numbers drawn by a key
    effect                                                    variables of a graph; what does more than compute
"""

from .activation import Elu
from .activation import Gelu
from .activation import GeluDifferential
from .activation import GeluTanh
from .activation import GeluTanhDifferential
from .activation import Hardswish
from .activation import Hardtanh
from .activation import LeakyRelu
from .activation import LogSigmoid
from .activation import Mish
from .activation import Relu
from .activation import ReluDifferential
from .activation import Sigmoid
from .activation import Silu
from .activation import Softplus
from .activation import Threshold
from .pooling import AdaptiveAvgPool
from .pooling import AdaptiveAvgUnpool
from .pooling import adaptive
from .arithmetic import Add
from .arithmetic import Atan2
from .arithmetic import CopySign
from .arithmetic import Div
from .arithmetic import FloorDivide
from .arithmetic import Fmod
from .arithmetic import Hypot
from .arithmetic import LogAddExp
from .arithmetic import Mul
from .arithmetic import Neg
from .arithmetic import Pow
from .arithmetic import Power
from .arithmetic import Remainder
from .arithmetic import Sub
from .arithmetic import XLogY
from .product import Attention
from .product import AttentionWeights
from .recurrent import LinearRecurrence
from .comparison import And
from .comparison import Clamp
from .comparison import Equal
from .comparison import Greater
from .comparison import GreaterEqual
from .comparison import Heaviside
from .comparison import IsFinite
from .comparison import IsInf
from .comparison import IsNaN
from .comparison import Kept
from .comparison import Less
from .comparison import LessEqual
from .comparison import Maximum
from .comparison import Minimum
from .comparison import NanToNum
from .comparison import Not
from .comparison import NotEqual
from .comparison import Or
from .comparison import Where
from .comparison import Xor
from .effect import ControlDep
from .effect import TupleGet
from .effect import Cotangents
from .effect import StopGradient
from .convolution import Convolution
from .convolution import ConvolutionFilter
from .convolution import ConvolutionTranspose
from .effect import Keep
from .effect import Print
from .effect import PyFunc
from .product import Contract
from .special import Erf
from .special import Erfc
from .factor import Exchanged
from .factor import Lu
from .factor import Orthonormal
from .factor import Pivots
from .factor import PseudoInverse
from .factor import Svd
from .leaf import Alias
from .leaf import Clone
from .leaf import Move
from .leaf import Several
from .index import Index
from .index import IndexAdd
from .index import IndexSet
from .index import Last
from .movement import Concatenate
from .movement import Stack
from .leaf import Const
from .leaf import Input
from .leaf import Leaf
from .leaf import const
from .product import Affine
from .product import MatMul
from .activation import BinaryCrossEntropy
from .movement import BroadcastTo
from .movement import Contiguous
from .movement import Flip
from .movement import Reshape
from .movement import Roll
from .movement import Transpose
from .movement import View
from .movement import worked_out
from .movement import ViewScatter
from .pattern import ARRAY
from .pattern import Slice
from .pattern import pattern_of
from .pattern import steps_of
from .movement import Diagonal
from .movement import OnDiagonal
from .movement import Pad
from .movement import Tril
from .movement import Triu
from .pointwise import Abs
from .pointwise import Acos
from .pointwise import Acosh
from .pointwise import Asin
from .pointwise import Asinh
from .pointwise import Atan
from .pointwise import Atanh
from .pointwise import Cast
from .pointwise import Ceil
from .pointwise import Cos
from .pointwise import Cosh
from .pointwise import Exp
from .pointwise import Exp2
from .pointwise import Expm1
from .pointwise import Floor
from .pointwise import Log
from .pointwise import Log1p
from .pointwise import Log2
from .pointwise import Log10
from .pointwise import Round
from .pointwise import Rsqrt
from .pointwise import Sign
from .pointwise import Sin
from .pointwise import Sinh
from .pointwise import Sqrt
from .pointwise import Tan
from .pointwise import Tanh
from .pointwise import Trunc
from .pooling import ArgMaxPool
from .pooling import AvgPool
from .pooling import AvgUnpool
from .pooling import MaxPool
from .pooling import PutTaps
from .pooling import TakeTaps
from .pooling import TapPlaces
from .random import FoldIn
from .random import NextKey
from .random import RandomBernoulli
from .random import RandomBits
from .random import RandomChoice
from .random import RandomIntegers
from .random import RandomNormal
from .random import RandomPermutation
from .random import RandomTruncatedNormal
from .random import RandomUniform
from .random import SplitKey
from .recurrent import Elman
from .recurrent import ElmanRelu
from .recurrent import Gru
from .recurrent import Lstm
from .reduce import All
from .reduce import Any
from .reduce import Max
from .reduce import Mean
from .reduce import Min
from .reduce import Norm
from .reduce import Prod
from .reduce import Std
from .reduce import Sum
from .reduce import SumOfProducts
from .reduce import Var
from .scan import ArgCumMax
from .scan import ArgCumMin
from .scan import CumProd
from .scan import CumSum
from .scan import LogCumSumExp
from .scan import Recurrence
from .scan import Shift
from .index import Gather
from .index import Scatter
from .index import ScatterAdd
from .index import SearchSorted
from .softmax import Chosen
from .softmax import CrossEntropy
from .softmax import LogSoftmax
from .softmax import LogSumExp
from .softmax import MinusOneHot
from .softmax import Softmax
from .softmax import SoftmaxMinusOneHot
from .factor import Cholesky
from .factor import Cofactors
from .factor import Det
from .factor import Eigenvalues
from .factor import Eigenvectors
from .factor import Inverse
from .factor import LogAbsDet
from .factor import MatrixExp
from .factor import SignDet
from .factor import Solve
from .sort import ArgMax
from .sort import ArgMin
from .sort import ArgSort
from .sort import ArgTopK
from .special import BesselI
from .special import ErfInv
from .special import PolyGamma
from .standardise import Centre
from .standardise import InverseRMS
from .standardise import RMSNormalise
from .standardise import Standardise
from .effect import Assign
from .effect import AssignAdd
from .effect import AssignSub
from .effect import Group
from .effect import Read
from .convolution import Fold
from .convolution import Unfold
from .convolution import Window
from .convolution import Windows


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
    ViewScatter,
    *(MatMul, Affine),
    Contract,
    *(Inverse, Solve, Det, Cofactors, LogAbsDet, SignDet, Cholesky, Eigenvalues, Eigenvectors),
    *(Svd, Orthonormal, PseudoInverse, MatrixExp, Pivots, Exchanged, Lu),
    *(AttentionWeights, Attention),
    *(Unfold, Windows, Fold),
    *(Convolution, ConvolutionTranspose, ConvolutionFilter),
    *(MaxPool, ArgMaxPool, TakeTaps, PutTaps, TapPlaces, AvgPool, AvgUnpool),
    *(AdaptiveAvgPool, AdaptiveAvgUnpool),
    LinearRecurrence,
    *(Elman, ElmanRelu, Gru, Lstm),
    *(RandomBits, RandomUniform, RandomNormal, RandomTruncatedNormal, RandomBernoulli, RandomIntegers),
    *(RandomPermutation, SplitKey, FoldIn, RandomChoice),
)
