"""The op table: everything minigrad can do, one class each.

Reading order: elementwise, then movement and reduce (each other's adjoints), then index and linalg.
"""

from .elementwise import Abs as Abs
from .elementwise import Add as Add
from .elementwise import Cast as Cast
from .elementwise import Cos as Cos
from .elementwise import Div as Div
from .elementwise import Equal as Equal
from .elementwise import Exp as Exp
from .elementwise import Greater as Greater
from .elementwise import GreaterEqual as GreaterEqual
from .elementwise import Less as Less
from .elementwise import LessEqual as LessEqual
from .elementwise import Log as Log
from .elementwise import Maximum as Maximum
from .elementwise import Minimum as Minimum
from .elementwise import Mul as Mul
from .elementwise import Neg as Neg
from .elementwise import Not as Not
from .elementwise import NotEqual as NotEqual
from .elementwise import Pow as Pow
from .elementwise import Power as Power
from .elementwise import Relu as Relu
from .elementwise import Sigmoid as Sigmoid
from .elementwise import Sign as Sign
from .elementwise import Sin as Sin
from .elementwise import Sqrt as Sqrt
from .elementwise import Sub as Sub
from .elementwise import Tanh as Tanh
from .elementwise import Where as Where
from .index import Index as Index
from .index import IndexAdd as IndexAdd
from .index import pattern_of as pattern_of
from .leaf import Const as Const
from .leaf import Input as Input
from .leaf import Leaf as Leaf
from .leaf import const as const
from .linalg import MatMul as MatMul
from .movement import BroadcastTo as BroadcastTo
from .movement import Reshape as Reshape
from .movement import Transpose as Transpose
from .reduce import LogSumExp as LogSumExp
from .reduce import Max as Max
from .reduce import Mean as Mean
from .reduce import Sum as Sum

TABLE = (
    *(Add, Sub, Mul, Div, Neg, Pow, Power, Exp, Log, Sqrt, Sin, Cos, Tanh, Sigmoid, Relu, Abs, Sign, Cast),
    *(Maximum, Minimum, Where, Greater, GreaterEqual, Less, LessEqual, Equal, NotEqual, Not),
    *(Reshape, Transpose, BroadcastTo, Sum, Mean, Max, LogSumExp, Index, IndexAdd, MatMul),
)
