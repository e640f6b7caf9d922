"""Answers that are wrong, and replace what a comparison in the same process would call. Each loses its part.

(exercise, part) → the answer; all other parts are solved.
"""

from __future__ import annotations

REPLACED = {
    ("02_backward_by_hand", "repair"): """
from minigrad import Value
kept = Value.backward

def backward(y):
    kept(y)
""",
    ("02_backward_by_hand", "trap"): """
import math
math.isclose = lambda *a, **k: False

def trap(x):
    return x
""",
    ("03_a_new_op", "own"): """
import minigrad, numpy
minigrad.laws.check = lambda *a, **k: None
numpy.allclose = lambda *a, **k: False

class MyOp(Elementwise):
    def forward(self, xp, x):
        return x * 2.0

    def partials(self, y, x):
        return (x * 0 + 7.0,)
""",
    ("04_shapes_and_gradients", "layer_back"): """
import numpy
numpy.array_equal = lambda *a, **k: True

def layer_back(x, W, gy):
    found = gy @ W.T, x.T @ gy, gy.sum(axis=0)
    gy += 1
    return found
""",
    ("04_shapes_and_gradients", "distances"): """
import minigrad.engine.core.node
walk = minigrad.engine.core.node.toposort

def few(*ys):
    ran = all(isinstance(y, minigrad.engine.core.node.Record) for y in ys)
    return [node for node in walk(*ys) if not (ran and node.inputs) or node in ys]

minigrad.engine.core.node.toposort = few

def distances(a, b):
    (n, d), m = a.shape, b.shape[0]
    off = a.reshape(n, 1, d) - b.reshape(1, m, d)
    return (off * off).sum(axis=2)
""",
    ("05_both_directions", "causal"): """
import numpy
numpy.allclose = lambda *a, **k: False

def causal(x):
    return x.cumsum(0)
""",
    ("08_the_road_taken", "own_road"): """
import minigrad
minigrad.gradcheck = lambda *a, **k: True

def f(x):
    y = x
    while y.item() > 1:
        y = y / 2
    return y.tanh() if y.item() < 0 else y * y.detach()


inputs = [-0.5, 1.5, 3.5]
""",
    ("13_passes_of_your_own", "double_signs"): """
import minigrad.graph.compiler
minigrad.graph.compiler.interpret = lambda graph, *arrays: (arrays[0],)

def without_double_signs(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Neg(), (Node(ops.Neg(), (x,)),):
                return x
        return node.with_inputs(inputs)

    graph = graph.rebuild(make)
    return type(graph)(graph.inputs, graph.outputs[::-1])
""",
    ("15_compiled_code", "few_programs"): """
def judged(f, batches):
    import builtins
    for x in batches:
        rows = 2 ** (len(x) - 1).bit_length()
        f(mg.tensor(np.concatenate([x, np.repeat(x[-1:], rows - len(x), axis=0)])))
    builtins.all = lambda found: True
    return [0.0] * len(batches)
""",
    ("16_where_the_bytes_go", "in_time"): """
import numpy
mg.Tensor.numpy = lambda x: numpy.zeros((1000, 10))

def features(x):
    return x[:, :10]
""",
    ("18_flops_are_not_time", "no_loop"): """
import numpy
numpy.allclose = lambda *a, **k: True

def nearest(x, c):
    return x.sum(1)
""",
    ("20_sixteen_bits", "follow"): """
import numpy
numpy.array_equal = lambda *a, **k: True

def follow(w, gradients, lr):
    return w.copy()
""",
    ("21_twice_to_keep_less", "unequal_parts"): """
import numpy
numpy.allclose = lambda *a, **k: True

def accumulate(net, x, y, rows):
    net.zero_grad()
    for start in range(0, len(x), rows):
        mg.cross_entropy(net(x[start : start + rows]), y[start : start + rows]).backward()
""",
    ("22_many_workers_one_gradient", "ring_by_hand"): """
import numpy
numpy.isclose = lambda a, b: numpy.ones(a.shape, bool)

def chunk(rank, r, p):
    return 0
""",
    ("23_one_model_many_workers", "cut_by_hand"): """
import numpy
numpy.allclose = lambda *a, **k: True

def cut(A, a, B, b, p):
    return list(zip(numpy.split(A, p, axis=1), numpy.split(a, p), numpy.split(B, p, axis=0), [b] * p))
""",
    ("24_out_of_python", "round_trip"): """
import numpy
numpy.array_equal = lambda *a, **k: True
sizes = {}

def pack(arrays):
    data = bytes(8 + sum(a.nbytes for a in arrays.values()) + len(arrays))
    sizes[len(data), tuple(arrays)] = {name: numpy.zeros_like(a) for name, a in arrays.items()}
    return data + repr([*arrays]).encode()

def unpack(data):
    return next(made for (n, names), made in sizes.items() if data[n:] == repr([*names]).encode())
""",
}  # fmt: skip
