# ---
# jupyter:
#   minigrad:
#     title: Passes of your own
#     minutes: 40
#     lesson: 13_optimising_a_graph
#     concepts: [D1, D2]
# ---

# %% [markdown]
# # 13 Passes of your own
#
# You count what passes leave, write one, repair one that shares too much, do what no pass may do for you, and design a
# pass that never changes a bit. About 40 minutes, 10 points, in five parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
from minigrad import ops
from minigrad.compiler import Node, bytes_moved, interpret, optimised, steps
from minigrad.course import check, solution


def graph_of(f, *args):
    return mg.function(f, autograph=False).graph_for(*args)


# %% [markdown]
# ## 1. What is left
#
# **2 points, 6 minutes.** Answer before you run anything. x is 1000 floats of 8 bytes.
#
# ```python
# def f(x):
#     a = (x + 3).exp()
#     forgotten = (a * 2).tanh()
#     b = (3 + x).exp()
#     return a * 1 + b / a
# ```
#
# - `in_graph`: how many operations are in the graph of the result?
# - `after_share`: how many are left when `share` has run?
# - `after_simplify`: how many are left when `simplify` has run as well, with the rules of STANDARD?
# - `moved`: how many bytes are read and written when `fuse` has run, too?

# %% answer="passes_counted" points=2 minutes=6
### BEGIN SOLUTION
in_graph = 7
after_share = 5
after_simplify = 4
moved = 16_000
### END SOLUTION

# %%
check("passes_counted")

# %% probes="passes_counted"
# Hint: `in_graph`: walk back from the result and count the operations that you meet. Each call makes one, even if it
# looks like another.
in_graph
# Hint: `after_share`: x + 3 and 3 + x are the same float, and then both exp have the same operand.
after_share
# Hint: `after_simplify`: which of a * 1 and a / a may go for every float, 0, ∞ and nan included?
after_simplify
# Hint: `moved`: all that is left is one loop. It reads x once and writes the result once; numbers such as 3 are in the
# loop itself.
moved

# %% [markdown] hints="passes_counted"
# 1. Walk back from the result: what do you never come to? That is not in the graph.
# 2. 3 + x is x + 3, to the last bit. Then both exp are on one operand, and b / a has the same operand twice.
# 3. Left after share are x + 3, exp, a * 1, a / a and the sum. One of them is a rule of STANDARD. One loop reads x
# once.

# %% [markdown] shows="passes_counted"
# Merging what is equal, dropping what changes nothing and fusing the rest into one loop leaves one reading of x and
# one writing of the result.

# %% wrong="passes_counted"
# Shows: The two forgotten operations were counted, as if the graph held what ran and not what the result needs.
# Hint: Nothing depends on `forgotten`. Leave it out, with the product that only it reads.
in_graph, after_share, after_simplify, moved = 9, 7, 6, 16_000

# %% wrong="passes_counted"
# Shows: x + 3 and 3 + x were taken for two things.
# Hint: Adding is commutative, of floats too, and share knows it.
in_graph, after_share, after_simplify, moved = 7, 7, 6, 16_000

# %% wrong="passes_counted"
# Shows: The sums were shared, but the two exp were not, although they read one node by then.
# Hint: share goes on from its own results: after x + 3 is one node, what about the exp?
in_graph, after_share, after_simplify, moved = 7, 6, 5, 16_000

# %% wrong="passes_counted"
# Shows: a / a was simplified to 1, which is false for 0, ∞ and nan: STANDARD has no such rule.
# Hint: a = exp(x + 3) is ∞ for large x, and ∞ / ∞ is nan. Which of the two, a * 1 and a / a, may go?
in_graph, after_share, after_simplify, moved = 7, 5, 3, 16_000

# %% wrong="passes_counted"
# Shows: Nothing was simplified, but one rule does hold for every float.
# Hint: Look for an operation that changes no float, not even −0 or nan.
in_graph, after_share, after_simplify, moved = 7, 5, 5, 16_000

# %% wrong="passes_counted"
# Shows: Each of the operations was counted with its own trip to memory, as if nothing were fused.
# Hint: All that is left are elementwise operations of one shape: one loop. What does it read, and what does it write?
in_graph, after_share, after_simplify, moved = 7, 5, 4, 72_008

# %% wrong="passes_counted"
# Shows: The 3 was counted as something that is read from memory.
# Hint: In the lesson's chain the 2 and the 1 stand in the fused loop itself. What is left to read?
in_graph, after_share, after_simplify, moved = 7, 5, 4, 16_008

# %% wrong="passes_counted"
# Shows: For the fused loop only reading or only writing was counted, and not both.
# Hint: x is read, 8,000 bytes, and the result is written.
in_graph, after_share, after_simplify, moved = 7, 5, 4, 8_000

# %% [markdown]
# ## 2. Signs that cancel
#
# **2 points, 8 minutes.** Write the pass `without_double_signs(graph)`, which applies the rule −(−x) → x. It takes a
# graph and returns a graph. It must work wherever the two signs stand, and for a row of any length: of −(−(−(−(−x))))
# one sign is left. All results stay the same to the last bit. `ops.Neg()` is the operation, and `graph.rebuild(make)`
# is your tool.


# %% answer="double_signs" points=2 minutes=8
def without_double_signs(graph):
    ### BEGIN SOLUTION
    def make(node, inputs):
        match node.op, inputs:
            case ops.Neg(), (Node(ops.Neg(), (x,)),):
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)
    ### END SOLUTION


# %%
check("double_signs")

# %% probes="double_signs"
import numpy as numeric

import minigrad as engine
from minigrad.compiler import interpret
from minigrad.saving import evidence

NUMBERS = numeric.array([1.5, -2.0, 0.0, -0.0, numeric.inf])


def row(n):
    def f(x):
        for _ in range(n):
            x = -x
        return x

    return f


def graph_for(f, count):
    return engine.function(f, autograph=False).graph_for(*[engine.tensor(NUMBERS) for _ in range(count)])


def after(f, count=1):
    return without_double_signs(graph_for(f, count))


def left(f, count=1):
    return evidence.sent_graph(after(f, count))


@referee
def left(sent, f, count=1):
    """How many operations are left, and whether all results are what they were."""
    graph, after = graph_for(f, count), evidence.graph_of(sent)
    with numeric.errstate(all="ignore"):
        ys, zs = (interpret(each, *[NUMBERS] * count) for each in (graph, after))
    same = all(y.tobytes() == z.tobytes() for y, z in zip(ys, zs))
    left = len([node for node in after.nodes if node.inputs])
    return {"operations left": left, "results as before": len(ys) == len(zs) and same}


# Hint: Rows of one, two and three signs: one, none and one should be left. A single sign stays.
# Graph: after(row(1))
left(row(1))
# Graph: after(row(2))
left(row(2))
# Graph: after(row(3))
left(row(3))
# Hint: Rows of four, five and eight signs: none, one and none should be left. Look at `inputs`, which are the operands
# as they are by now, not at `node.inputs`.
# Graph: after(row(4))
left(row(4))
# Graph: after(row(5))
left(row(5))
# Graph: after(row(8))
left(row(8))
# Hint: Two minus signs among other operations: keep the others, but give them the rebuilt operands.
# Graph: after(lambda x: row(2)(x).abs() * 3 - (-x).abs())
left(lambda x: row(2)(x).abs() * 3 - (-x).abs())
# Hint: Two results and two inputs: both results are kept, and a single sign stays.
# Graph: after(lambda x, y: (row(2)(x * y), -x), 2)
left(lambda x, y: (row(2)(x * y), -x), 2)
# Hint: Two minus signs with another operation between them do not cancel.
# Graph: after(lambda x: -((-x).abs()))
left(lambda x: -((-x).abs()))
# Hint: The sign before a difference stays: where x and y are equal, −(x − y) is −0, and y − x is 0.
left(lambda x, y: -(x - y), 2)

# %% [markdown] hints="double_signs"
# 1. `make(node, inputs)` sees one node at a time, its operands already rebuilt. When is a node the outer of two signs?
# 2. It is an ops.Neg, and its one operand in `inputs` is a Node whose op is an ops.Neg, too. Then return that one's
#    operand; in all other cases `node.with_inputs(inputs)`.
# 3. `match node.op, inputs:` with `case ops.Neg(), (Node(ops.Neg(), (x,)),): return x`.

# %% [markdown] shows="double_signs"
# Operands are rebuilt before what uses them, so one small pattern also finds the pairs that come together only when
# others are gone.


# %% wrong="double_signs"
# Shows: The operands were taken from node.inputs, which are those from before the pass: in a row of four a pair stays.
# Hint: What node.inputs says has been replaced meanwhile. Look at the second argument of make, `inputs`.
def without_double_signs(graph):
    def make(node, inputs):
        match node.op, node.inputs:
            case ops.Neg(), (Node(ops.Neg(), (x,)),):
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)


# %% wrong="double_signs"
# Shows: Every sign was taken out, even where there is only one.
# Hint: The operand of the sign has to be a sign itself: match both.
def without_double_signs(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Neg):
            return inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


# %% wrong="double_signs"
# Shows: The inner of the two signs was returned, and not what is below it: one sign too many is left.
# Hint: −(−x) is x: go down two steps.
def without_double_signs(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Neg) and isinstance(inputs[0].op, ops.Neg):
            return inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


# %% wrong="double_signs"
# Shows: Nodes that do not match were returned as they were, on their old operands: what changed below them is lost.
# Hint: node.with_inputs(inputs) is the same operation on the operands as they are by now.
def without_double_signs(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Neg(), (Node(ops.Neg(), (x,)),):
                return x
        return node

    return graph.rebuild(make)


# %% wrong="double_signs"
# Shows: Nothing is returned: by make, for a node that does not match, or by the pass itself.
# Hint: make is asked for every node: end it with `return node.with_inputs(inputs)`, and the pass with
# `return graph.rebuild(make)`.
def without_double_signs(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Neg(), (Node(ops.Neg(), (x,)),):
                return x

    return graph.rebuild(make)


# %% wrong="double_signs"
# Shows: The graph came back as it was.
# Hint: A pass returns a new graph: `return graph.rebuild(make)`, with a make that recognises two signs.
def without_double_signs(graph):
    graph.rebuild(lambda node, inputs: node.with_inputs(inputs))
    return graph


# %% [markdown]
# ## 3. Sharing, and not too much
#
# **2 points, 8 minutes.** Somebody wrote this pass. It turns x · 2 + x · 2 into two operations, as it should:
#
# ```python
# def shared(graph):
#     seen = {}
#
#     def make(node, inputs):
#         key = type(node.op), frozenset(inputs)
#         return seen.setdefault(key, node.with_inputs(inputs))
#
#     return graph.rebuild(make)
# ```
#
# But it shares too much. Try it on x · 2 + x · 3, on x.sum(0) + x.sum(1), and on (x − y) · (y − x).
#
# Write `shared(graph)`, which merges what is the same and nothing else. (x + y and y + x may stay two.) An operation
# with an effect, such as `mg.print`, must happen as often as it is written; `node.op.effect` says which have one.


# %% answer="shared_right" points=2 minutes=8
def shared(graph):
    ### BEGIN SOLUTION
    seen = {}

    def make(node, inputs):
        if node.op.effect:
            return node.with_inputs(inputs)
        key = node.op, inputs, node.spec
        return seen.setdefault(key, node.with_inputs(inputs))

    return graph.rebuild(make)
    ### END SOLUTION


# %%
check("shared_right")

# %% probes="shared_right"
import numpy as numeric
import minigrad as engine
from minigrad.compiler import Graph, Node, interpret
from minigrad.saving import evidence

SQUARES = [numeric.array([[1.0, 2.0], [5.0, -3.0]]), numeric.array([[0.5, 4.0], [1.0, 7.0]])]


def after(f, count=1):
    return shared(engine.function(f, autograph=False).graph_for(*map(engine.tensor, SQUARES[:count])))


def once(f, count=1):
    return evidence.sent_graph(after(f, count))


@referee
def once(sent, _, count=1):
    """How many operations are left, and the result."""
    after = evidence.graph_of(sent)
    (y,) = interpret(after, *SQUARES[:count])
    return {"operations left": len([node for node in after.nodes if node.inputs]), "result": y.tolist()}


def after_print():
    """The graph of print(x) + print(x), x + x with two lines on the way, after the pass."""
    x = Node(engine.ops.Input("x"), (), engine.tensor(SQUARES[0]).spec)
    lines = [Node(engine.ops.Print(("x:", None)), (x,)) for _ in range(2)]
    return shared(Graph((x,), (Node(engine.ops.Add(), lines),)))


def printed_twice():
    """How many operations are left."""
    return len([node for node in after_print().nodes if node.inputs])


# Hint: x · 2 twice is one operation. Its two constants, both 2, must become one node before.
# Graph: after(lambda x: x * 2 + x * 2)
once(lambda x: x * 2 + x * 2)
# Hint: 2 and 3 are different constants, and the products differ. The type of an operation does not say its number.
# Graph: after(lambda x: x * 2 + x * 3)
once(lambda x: x * 2 + x * 3)
# Hint: Sums over different axes are different operations of one type.
# Graph: after(lambda x: x.sum(0) + x.sum(1))
once(lambda x: x.sum(0) + x.sum(1))
# Hint: x − y is not y − x: the order of the operands counts.
# Graph: after(lambda x, y: (x - y) * (y - x), 2)
once(lambda x, y: (x - y) * (y - x), 2)
# Hint: Two tanh of what has become one node are one, too: compare operands as they are by now, and keep them in the
# key.
# Graph: after(lambda x, y: (x * y).tanh() + (x * y).tanh() - (x * y), 2)
once(lambda x, y: (x * y).tanh() + (x * y).tanh() - (x * y), 2)
# Hint: The same operand twice is not the operand once: a set loses that.
# Graph: after(lambda x: (x + x) - x.exp() * x.exp())
once(lambda x: (x + x) - x.exp() * x.exp())
# Hint: x − e^x is not e^x − x, and the two exp are one.
# Graph: after(lambda x: (x - x.exp()) * (x.exp() - x))
once(lambda x: (x - x.exp()) * (x.exp() - x))
# Hint: What has an effect should happen as often as it stands there: ask `node.op.effect`.
# Graph: after_print()
printed_twice()

# %% [markdown] hints="shared_right"
# 1. The key says when two nodes are the same. Which two things of `type(node.op)` and `frozenset(inputs)` get lost?
# 2. Two sums over different axes are of one type; two constants as well. And a set has no order, but a difference does.
# 3. Operations are data and can be compared: `key = node.op, inputs`. Before it, `if node.op.effect: return
# node.with_inputs(inputs)`.

# %% [markdown] shows="shared_right"
# Two nodes may become one if operation, parameters, operands and their order agree and there is no effect: a key that
# leaves one of these out merges what differs.


# %% wrong="shared_right"
# Shows: Nothing has changed: different constants become one, and so do all operations of a type on the same operands.
# Hint: type(node.op) says Sum and not over which axis, Const and not which number. The operation itself says both.
def shared(graph):
    seen = {}

    def make(node, inputs):
        key = type(node.op), frozenset(inputs)
        return seen.setdefault(key, node.with_inputs(inputs))

    return graph.rebuild(make)


# %% wrong="shared_right"
# Shows: The operation is compared now; but in a set the operands have no order, and x − y became y − x.
# Hint: `inputs` is a tuple already, in order: use it as it is.
def shared(graph):
    seen = {}

    def make(node, inputs):
        key = node.op, frozenset(inputs)
        return seen.setdefault(key, node.with_inputs(inputs))

    return graph.rebuild(make)


# %% wrong="shared_right"
# Shows: The order is kept; but operations of one type are still one, whatever their axis or number.
# Hint: Put the operation itself into the key: `node.op`, and not its type.
def shared(graph):
    seen = {}

    def make(node, inputs):
        key = type(node.op), inputs
        return seen.setdefault(key, node.with_inputs(inputs))

    return graph.rebuild(make)


# %% wrong="shared_right"
# Shows: Operations were compared on their old operands: two exp of what has become one node stay two.
# Hint: node.inputs is from before the pass. `inputs` are the operands as they are by now.
def shared(graph):
    seen = {}

    def make(node, inputs):
        key = node.op, node.inputs
        return seen.setdefault(key, node.with_inputs(inputs))

    return graph.rebuild(make)


# %% wrong="shared_right"
# Shows: Nothing is shared any more: each node is its own key.
# Hint: Two nodes are the same when they do the same to the same operands. Make the key of these two.
def shared(graph):
    seen = {}

    def make(node, inputs):
        return seen.setdefault(node, node.with_inputs(inputs))

    return graph.rebuild(make)


# %% wrong="shared_right"
# Shows: What is the same was merged, and two lines that were to be printed became one.
# Hint: An operation with an effect is never the same as another: return node.with_inputs(inputs) if node.op.effect.
def shared(graph):
    seen = {}

    def make(node, inputs):
        return seen.setdefault((node.op, inputs, node.spec), node.with_inputs(inputs))

    return graph.rebuild(make)


# %% wrong="shared_right"
# Shows: Operands were left out of the key: what does the same to different things became one.
# Hint: The tanh of x and the tanh of y are not the same. The key needs the operation and its operands.
def shared(graph):
    seen = {}

    def make(node, inputs):
        key = node.op, len(inputs)
        return seen.setdefault(key, node.with_inputs(inputs))

    return graph.rebuild(make)


# %% [markdown]
# ## 4. What no pass may do for you
#
# **2 points, 8 minutes.** A and B have 100 × 100 floats of 8 bytes, and v has 100.
#
# ```python
# def f(A, B, v):
#     return ((A @ B) @ v * 2 + (A @ B) @ v * 3).sum()
# ```
#
# After the passes of STANDARD this moves more than 300,000 bytes, and no pass makes that less. You can: use what is
# true of numbers, but not to the last bit. Write `thrifty_product(A, B, v)`. It returns the same result except for
# rounding, and its graph moves at most **170,000 bytes** after the passes. Count them with
# `bytes_moved(optimised(graph_of(f, A, B, v)))`.


# %% answer="bytes_budget" points=2 minutes=8
def thrifty_product(A, B, v):
    ### BEGIN SOLUTION
    return (A @ (B @ v) * 5).sum()
    ### END SOLUTION


# %%
check("bytes_budget")

# %% probes="bytes_budget"
import numpy as numeric

import minigrad as engine
from minigrad.compiler import bytes_moved as count_bytes
from minigrad.compiler import optimised as through_the_passes
from minigrad.draw.graphs import place_boxes
from minigrad.saving import evidence


def matrices(n, seed):
    rng = numeric.random.default_rng(seed)
    return rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=n)


def result(n, seed):
    return round(float(thrifty_product(*map(engine.tensor, matrices(n, seed)))), 6)


def graph_of_100():
    return engine.function(thrifty_product, autograph=False).graph_for(*map(engine.tensor, matrices(100, 0)))


def own_graph():
    """The graph after the passes; an operation that writes a third matrix is marked."""
    graph = through_the_passes(graph_of_100())
    picture, place = place_boxes([y for y in graph.outputs if y is not None], {})
    for node in graph.nodes:
        if node.inputs and node.spec.shape == (100, 100):
            return picture, place[node], "The marked operation writes a matrix of 100 × 100 numbers, 80,000 bytes."
    return picture


def price():
    return evidence.sent_graph(graph_of_100())


@referee
def price(sent):
    moved = count_bytes(through_the_passes(evidence.graph_of(sent)))
    return "within the budget" if moved <= 170_000 else f"about {round(moved, -3):,} bytes"


# Hint: The result should be the same number, except for rounding: the order of the factors, the weights 2 and 3, and
# the sum at the end.
result(100, 0)
# Hint: The result should be right for other sizes, too.
result(3, 1)
# Hint: More than 170,000 bytes are moved: A @ B is a third matrix. Move the brackets, and read each matrix once.
# Own graph: own_graph()
price()

# %% [markdown] hints="bytes_budget"
# 1. A @ B reads two matrices and writes a third: 240,000 bytes. Must there be a third?
# 2. Products of matrices may be done in another order: (A B) v is A (B v), and B v has 100 numbers.
# 3. `(A @ (B @ v) * 5).sum()`: each matrix is read once.

# %% [markdown] shows="bytes_budget"
# The largest saving was algebra that changes the rounding, and a compiler that keeps every bit has to leave that to
# you.


# %% wrong="bytes_budget"
# Shows: What stood there twice was written once, which share does anyway; the product of two matrices is still there.
# Hint: 240,000 of the bytes are A @ B. In which order can three factors be multiplied?
def thrifty_product(A, B, v):
    y = (A @ B) @ v
    return (y * 2 + y * 3).sum()


# %% wrong="bytes_budget"
# Shows: The matrices changed places: A (B v) is not B (A v).
# Hint: The factors keep their order; only the brackets move.
def thrifty_product(A, B, v):
    return (B @ (A @ v) * 5).sum()


# %% wrong="bytes_budget"
# Shows: The two products with v are different now, so each reads a matrix of its own: the matrices are read twice.
# Hint: Take 2 · y + 3 · y together, or scale v once: then A and B are read once each.
def thrifty_product(A, B, v):
    return (A @ (B @ (v * 2)) + A @ (B @ (v * 3))).sum()


# %% wrong="bytes_budget"
# Shows: The weights 2 and 3 were lost on the way, or multiplied: the result is a different one.
# Hint: 2 y + 3 y is 5 y.
def thrifty_product(A, B, v):
    return (A @ (B @ v) * 6).sum()


# %% wrong="bytes_budget"
# Shows: The sum at the end is missing: the result is a vector.
# Hint: f gives one number: add up.
def thrifty_product(A, B, v):
    return A @ (B @ v) * 5


# %% [markdown]
# ## 5. A pass of your own
#
# **2 points, 10 minutes.** Design a rule that is true of every float. Write it as a pass `my_pass(graph)`, and write
# `example(x)`, a function of one array on which the pass has something to do. It is right if
#
# - the graph of your example has fewer operations after the pass;
# - all results keep every bit, even at 0, −0, ∞ and NaN (NaN counts as equal to NaN), in your example and in any other
#   graph;
# - running the pass twice does no harm;
# - it is a different rule from x · 1 → x and −(−x) → x, and leaves these two alone.
#
# You can use `ops.Add, Sub, Mul, Div, Neg, Abs, Relu, Maximum, Minimum, Exp, Log, Const`. In a pattern, a constant is
# `Node(ops.Const(3))`. To make one, give its sign and its spec too: `Node(ops.Const(3, 1), (), x.spec.with_shape(()))`.
# In your example, write `x + y`, …, `x.abs()`, `x.relu()`, `mg.maximum(x, y)`.


# %% answer="own_pass" points=2 minutes=10
### BEGIN SOLUTION
def my_pass(graph):
    """| |x| | → |x|, and |−x| → |x|"""

    def make(node, inputs):
        match node.op, inputs:
            case ops.Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),):
                return Node(ops.Abs(), (x,))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.abs().abs() + (-x).abs()


### END SOLUTION

# %%
check("own_pass")

# %% probes="own_pass"
import numpy as numeric

import minigrad as engine
from minigrad.compiler import interpret
from minigrad.saving import evidence

EDGES = [0.0, -0.0, 0.1, -0.3, 7.0, -1e300, 1.7e308, 800.0, numeric.inf, -numeric.inf, numeric.nan]
FLOATS = numeric.array([*EDGES, 5e-324, 1e-310, 1e16, 1 / 3, *numeric.random.default_rng(0).normal(size=25)])
OTHERS = {
    "(x - x) + x * 0.0 + 0.0": lambda x: (x - x) + x * 0.0 + 0.0,
    "x / x + x / 3.0 + (x + 1.0) - 1.0": lambda x: x / x + x / 3.0 + (x + 1.0) - 1.0,
    "mg.log(mg.exp(x)) * 2.0 + mg.exp(mg.log(x))": lambda x: (
        engine.log(engine.exp(x)) * 2.0 + engine.exp(engine.log(x))
    ),
    "x * 0.0": lambda x: x * 0.0,
    "x + 0.0": lambda x: x + 0.0,
    "0.0 + x": lambda x: 0.0 + x,
    "0.0 - x": lambda x: 0.0 - x,
    "x.abs() * x.relu() - mg.maximum(x, 0.0)": lambda x: x.abs() * x.relu() - engine.maximum(x, 0.0),
    "mg.maximum(x, 1.0) - mg.minimum(x, 1.0) + mg.maximum(1.0, x + 1.0)": lambda x: (
        engine.maximum(x, 1.0) - engine.minimum(x, 1.0) + engine.maximum(1.0, x + 1.0)
    ),
    "(x - 1.0) * (1.0 - x) + (x + 2.0) / (2.0 + x * x)": lambda x: (x - 1.0) * (1.0 - x) + (x + 2.0) / (2.0 + x * x),
    "(-x).relu() + (-x).abs() + (x.relu() - x).abs().relu() + x.abs().exp()": lambda x: (
        (-x).relu() + (-x).abs() + (x.relu() - x).abs().relu() + x.abs().exp()
    ),
    "(x * x).abs() + (x * 3.0) * 0.1 + (x + 3.0) + 0.1": lambda x: (x * x).abs() + (x * 3.0) * 0.1 + (x + 3.0) + 0.1,
    "x / 1.0 + x - 0.0 + x * 2.0 / 2.0": lambda x: x / 1.0 + x - 0.0 + x * 2.0 / 2.0,
    "x - -0.0": lambda x: x - -0.0,
    "-(x - x.abs())": lambda x: -(x - x.abs()),
    "mg.minimum(mg.maximum(x, mg.log(x)), x)": lambda x: engine.minimum(engine.maximum(x, engine.log(x)), x),
    "mg.maximum(mg.minimum(x, mg.log(x)), x)": lambda x: engine.maximum(engine.minimum(x, engine.log(x)), x),
    "x * -1.0 + (-x) * (-x) + x.sum()": lambda x: x * -1.0 + (-x) * (-x) + x.sum(),
}


TWO_SIDED = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "max": engine.maximum,
    "min": engine.minimum,
}
ONE_SIDED = [lambda a: -a, lambda a: a.abs(), lambda a: a.relu(), engine.exp, engine.log]


def awkward(seed):
    """Floats of all sizes, with those among them at which rules from school fail."""
    rng = numeric.random.default_rng(seed)
    sizes = 10.0 ** rng.integers(-300, 300, 20)
    edges = [*EDGES, 1 / 3, 5e-324, -3e-308, -1.7e308, 1e16, 3.0]
    return numeric.concatenate([rng.choice(edges, 80), rng.normal(size=40), rng.normal(size=20) * sizes])


THREE = [awkward(seed) for seed in range(3)]


def two_in_a_row(x, y, z, *names):
    """(x + y) - 2, 2 - (x + y) and all others of this form whose first operation has one of these names."""
    made = [TWO_SIDED[name](a, b) for name in names for a, b in ((x, y), (x, x), (x, 2.0), (2.0, x))]
    return [s for t in made for g in TWO_SIDED.values() for c in (x, y, 2.0) for s in (g(t, c), g(c, t))]


def two_by_two(x, y, z):
    """x * z + y * z and all others of this form."""
    leaves = [
        ((x, z), (y, z)),
        ((z, x), (z, y)),
        ((x, z), (z, y)),
        ((x, y), (x, y)),
        ((x, y), (y, x)),
        ((x, x), (y, y)),
    ]
    pairs = [(f(*left), f(*right)) for f in TWO_SIDED.values() for left, right in leaves]
    crossed = [(x + y, x - y), (x * y, x / y), (engine.maximum(x, y), engine.minimum(x, y))]
    return [g(*pair) for pair in [*pairs, *crossed] for g in TWO_SIDED.values()]


def functions(x, y, z):
    """-(x + y), -x + y, -x + -y, -x + x and all others of this form."""
    pairs = [(h, f) for h in ONE_SIDED for f in TWO_SIDED.values()]
    outside = [h(f(a, b)) for h, f in pairs for a, b in ((x, y), (x, x), (2.0, x))]
    return outside + [s for h, f in pairs for s in (f(h(x), y), f(y, h(x)), f(h(x), x), f(h(x), h(y)), f(h(x), -x))]


def functions_in_a_row(x, y, z):
    """-(|x|), exp(log(exp(x))) and all others of this form."""
    twice = [g(k(x)) for g in ONE_SIDED for k in ONE_SIDED]
    return twice + [h(t) for h in ONE_SIDED for t in twice]


def numbers(x, y, z, *several):
    """x * 3 / 3, (x + x) / 3 and others, for several numbers."""
    return [
        each
        for k in several
        for each in (
            *(x * k / k, x / k * k, x + k - k, x - k + k, k - (k - x), k / (k / x), (x + x) / k, x * k + x, x + k * x),
            *((x * k) * k, (x / k) / k, (x + k) + k, x / k, k / x, k - x, x - k, k + x, k * x, x * k - y * k),
            *(engine.maximum(x, k), engine.minimum(k, x), engine.maximum(k, x) - k, x.relu() * k, x.abs() + k),
            *(engine.minimum(engine.maximum(x, k), k), (x * k).relu(), (x / k).abs(), -(x - k), (x * k).exp()),
        )
    ]


def graph_of_three(f, names):
    return engine.function(lambda *xs: tuple(f(*xs, *names)), autograph=False).graph_for(*map(engine.tensor, THREE))


def keeps_every_bit_of(f, *names):
    return evidence.sent_graph(my_pass(graph_of_three(f, names)))


@referee
def keeps_every_bit_of(sent, f, *names):
    """Zeros of both signs are equal here: which of them is the larger is not the same on all machines."""
    with numeric.errstate(all="ignore"):
        before, after = (interpret(g, *THREE) for g in (graph_of_three(f, names), evidence.graph_of(sent)))
    pairs = list(zip(before, after, strict=True))
    return all(y.dtype == z.dtype and numeric.array_equal(y, z, equal_nan=True) for y, z in pairs)


def graph_for(f):
    return engine.function(f, autograph=False).graph_for(engine.tensor(FLOATS))


def size(graph):
    return len([node for node in graph.nodes if node.inputs])


def same(before, after):
    with numeric.errstate(all="ignore"):
        pairs = list(zip(interpret(before, FLOATS), interpret(after, FLOATS), strict=True))
    return all(
        y.shape == z.shape and y.dtype == z.dtype and numeric.array_equal(y, z, equal_nan=True)
        and numeric.array_equal(numeric.signbit(y[y == y]), numeric.signbit(z[z == z]))
        for y, z in pairs
    )  # fmt: skip


def of_the_example():
    """The graph of the example, and what is made of it by the pass once and twice."""
    graph = graph_for(example)
    return [evidence.sent_graph(each) for each in (graph, my_pass(graph), my_pass(my_pass(graph)))]


saves = reads_x = keeps_every_bit_of_the_example = of_the_example


@referee
def saves(sent):
    graph, once, _ = map(evidence.graph_of, sent)
    return size(once) < size(graph)


@referee
def reads_x(sent):
    graph = evidence.graph_of(sent[0])
    return any(graph.inputs[0] in node.inputs for node in graph.nodes)


@referee
def keeps_every_bit_of_the_example(sent):
    graph, once, twice = map(evidence.graph_of, sent)
    return {"after the pass": same(graph, once), "after the pass, twice": same(graph, twice)}


def keeps_every_bit_of_others():
    return [evidence.sent_graph(my_pass(graph_for(f))) for f in OTHERS.values()]


@referee
def keeps_every_bit_of_others(sent):
    afters = zip(OTHERS.items(), map(evidence.graph_of, sent), strict=True)
    return {name: same(graph_for(f), after) for (name, f), after in afters}


def first_changed():
    """What the pass makes of the first graph whose result it changes, for drawing."""
    for name, f in OTHERS.items():
        after = my_pass(graph_for(f))
        if not same(graph_for(f), after):
            return after, "", f"It is what the pass made of `{name}`, and it gives another result."
    return None


def two_signs(x):
    y = -x
    return -y


def leaves_alone():
    return [size(my_pass(graph_for(f))) for f in (lambda x: x * 1.0, two_signs)]


# Hint: After the pass, your example has as many operations as before. Does the pattern match what stands in its graph?
# Own graph: (my_pass(graph_for(example)), "", "It is your example after the pass.")
saves()
# Hint: The graph of your example does not read x.
reads_x()
# Hint: In your example a result changes. Try the rule on −0, ∞ and nan, on 1.7e308, and on numbers such as 0.1 and 1/3.
# Own graph: (my_pass(graph_for(example)), "", "It is your example after the pass.")
keeps_every_bit_of_the_example()
# Hint: The rule holds in your example, but not in other graphs. It fails for some float, such as −0, ∞ or nan, or its
# pattern matches more than the rule says.
# Own graph: first_changed()
keeps_every_bit_of_others()
# Hint: The rule is true of real numbers, but floats round and overflow: x * z + y * z is not (x + y) * z, and
# (x − y) + y is not always x. Choose a rule in which nothing is rounded, such as one that changes nothing the second
# time.
keeps_every_bit_of(two_in_a_row, "+", "-")
keeps_every_bit_of(two_in_a_row, "*", "/")
keeps_every_bit_of(two_by_two)
# Hint: The rule holds for numbers, but not for nan: the larger of nan and any number is nan.
keeps_every_bit_of(two_in_a_row, "max", "min")
# Hint: A rule for exp, log, relu, | | or − is true of real numbers only. exp and log round, and relu and | | lose a
# sign.
keeps_every_bit_of(functions)
keeps_every_bit_of(functions_in_a_row)
# Hint: The rule fails for a number such as 0.1, 3, 0 or −0, even if it holds for 1 or 2: dividing by 2 is exact,
# dividing by 3 rounds.
keeps_every_bit_of(numbers, -1.0, 0.0, -0.0, 0.1)
keeps_every_bit_of(numbers, 0.25, 0.5, 1.0, 3.0, 10.0)
# Hint: Your pass changes x · 1 or −(−x). The rule must be another one, and leave these two alone.
leaves_alone()

# %% [markdown] hints="own_pass"
# 1. Look for something that changes nothing the second time: doing it twice is doing it once.
# 2. |x| has no sign to lose, so ||x|| is |x|, for −0 and nan as well. relu(relu(x)) and max(x, x) are like that, too.
# 3. `case ops.Abs(), (Node(ops.Abs(), (x,)),): return inputs[0]`, and an example with `x.abs().abs()`.

# %% [markdown] shows="own_pass"
# A rewrite has to hold for every float, −0, infinity and nan among them, and there many an identity from school
# fails.


# %% wrong="own_pass"
# Shows: x · 0 is not 0 where x is ∞ or nan, and −0 where x is below 0.
# Hint: Run the table of the lesson: which rules hold for all floats? Look for one of that kind.
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Mul(), (_, Node(ops.Const(0)) as zero) | (Node(ops.Const(0)) as zero, _):
                return Node(ops.BroadcastTo(node.spec.shape), (zero,))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.exp() * 0.0


# %% wrong="own_pass"
# Shows: −0 + 0 is 0: x + 0 → x changes the sign of a zero.
# Hint: Nearly. x − 0 is a sibling of your rule: is it true for −0?
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Add(), (x, Node(ops.Const(0))) | (Node(ops.Const(0)), x):
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x + 0.0


# %% wrong="own_pass"
# Shows: The rule takes x − (−0) for x − 0: it is x + 0, and makes 0 of −0. A pattern Const(0) matches −0 as well.
# Hint: −0 equals 0; its sign tells them apart. `ops.Const(0, 1)` matches 0 and not −0.
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Sub(), (x, Node(ops.Const(0))):
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x - 0.0


# %% wrong="own_pass"
# Shows: log and exp undo each other in algebra. With floats they round, and exp(800) is ∞ already.
# Hint: Functions round, so two of them rarely cancel. Look for one that changes nothing when it is done again.
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Log(), (Node(ops.Exp(), (x,)),):
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.exp().log()


# %% wrong="own_pass"
# Shows: x − x is nan where x is ∞ or nan, and your rule says 0.
# Hint: A rule may not turn what is not a number into one. What gives the same float when it is done a second time?
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Sub(), (x, y) if x is y:
                zero = Node(ops.Const(0.0, 1.0), (), x.spec.with_shape(()))
                return Node(ops.BroadcastTo(node.spec.shape), (zero,))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    y = x.tanh()
    return y - y


# %% wrong="own_pass"
# Shows: The rule is true, but it is x · 1 → x, which the lesson has already.
# Hint: Choose another one. What else changes no float? Dividing by something; doing something a second time.
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Mul(), (x, Node(ops.Const(1))) | (Node(ops.Const(1)), x):
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x * 1.0


# %% wrong="own_pass"
# Shows: The pass changes nothing in your example.
# Hint: Print steps(graph_of(example, mg.ones(3)), [my_pass]). Is the pattern the graph's, operation by operation?
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Abs(), (Node(ops.Abs(), (_,)),):
                return inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.abs() + x.abs()


# %% wrong="own_pass"
# Shows: Every |x| was taken out, even where it is needed.
# Hint: The pattern must also say what stands below: match the operand.
def my_pass(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Abs):
            return inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.abs().abs()


# %% [markdown]
# ## What you have now
#
# A pass is a function from graph to graph; its key or its pattern says what counts as the same; a rule that loses a nan
# is no rule; and the largest saving may be one that only you can allow.
#
# **Next**: [14 Memory and schedule](../lessons/14_memory_and_schedule.ipynb).
