# ---
# jupyter:
#   minigrad:
#     title: Branches and loops as nodes
#     minutes: 20
#     lesson: 10_control_flow_in_graphs
#     concepts: [C5]
# ---

# %% [markdown]
# # 10 Branches and loops as nodes
#
# You say what is built and what is run, write a loop that no Python `while` could be, and make a loop of your own. Two
# optional parts repair a gradient and keep a budget of nodes. About 20 minutes without these two. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
import minigrad.graph  # loads what builds and runs graphs, so that no check has to wait for it
from minigrad.course import check, solution

# %% [markdown]
# ## 1. Built and run
#
# **2 points, 5 minutes.** Answer before you run anything. Each of the functions `up`, `down` and `double` notes when
# Python calls it, and has a probe inside. `up` returns x, `down` returns −x, and `double` returns z · 2.
#
# ```python
# with graph.as_default():
#     x = mg.placeholder("float64", ())
#     y = mg.cond(x > 0, up, down)
#     z = mg.while_loop(lambda z: z < 100, double, (y + 1,))[0]
#
# session.run(y, {x: 5.0})
# session.run(z, {x: 5.0})    # z goes from 6 to 12, 24, 48, 96 and 192
# ```
#
# - `called`: how often does Python call `up`, `down` and `double`, all three together?
# - `up_ran`, `down_ran`: how many values does the probe of each branch hold at the end?
# - `double_ran`: how many values does the probe of the loop's body hold at the end?

# %% answer="counts" points=2 minutes=5
### BEGIN SOLUTION
called = 3
up_ran, down_ran = 2, 0
double_ran = 5
### END SOLUTION

# %%
check("counts")

# %% probes="counts"
# Hint: `called`: Python calls a function to write it down. How often is each of the three written down?
called
# Hint: `up_ran`: in how many of the two runs is y computed?
up_ran
# Hint: `down_ran`: both branches are built, but how many of them run?
down_ran
# Hint: `double_ran`: count the doublings from 6 to the first number that is not below 100.
double_ran

# %% [markdown] hints="counts"
# 1. Python calls a function to write it down. When is that, and how often is one function written down?
# 2. The second run needs y as well, because z begins with it. The first run does not need z.
# 3. Each of the three is called once. `up` ran in both runs, `down` in none, and from 6 to 192 it takes 5 doublings.

# %% [markdown] shows="counts"
# Building and running are two events: Python calls each function once, and then the values decide what runs, and how
# often.

# %% wrong="counts"
# Shows: The branch that is not taken was not counted among the calls: as if one branch were chosen while building.
# Hint: While the graph is built nobody knows x. Both branches have to be written down, so both are called.
called, up_ran, down_ran, double_ran = 2, 2, 0, 5

# %% wrong="counts"
# Shows: Calls of Python were counted for each time that a branch or a body ran.
# Hint: A run calls no Python. How often is each function called to be written down?
called, up_ran, down_ran, double_ran = 7, 2, 0, 5

# %% wrong="counts"
# Shows: Both branches were counted as run, as they would be with where.
# Hint: cond builds both and runs one. Which is it, at x = 5?
called, up_ran, down_ran, double_ran = 3, 2, 2, 5

# %% wrong="counts"
# Shows: The branch was counted in one of the two runs only.
# Hint: z begins with y + 1, so the second run has to compute y, too.
called, up_ran, down_ran, double_ran = 3, 1, 0, 5

# %% wrong="counts"
# Shows: The values of z were counted, and not the turns between them.
# Hint: The first of the six values is there before any turn.
called, up_ran, down_ran, double_ran = 3, 2, 0, 6

# %% wrong="counts"
# Shows: This fits the belief that the body runs once, because it is built once.
# Hint: Built once, and run at every turn: count the doublings from 6 until 100 is passed.
called, up_ran, down_ran, double_ran = 3, 2, 0, 1

# %% [markdown]
# ## 2. Euclid's loop
#
# **2 points, 7 minutes.** For 2300 years the greatest common divisor of two whole numbers has been computed like this:
# while b is not 0, replace the pair (a, b) by (b, a % b). At the end the answer is a. From (48, 18) it goes to (18,
# 12), (12, 6) and (6, 0), so the answer is 6.
#
# Write `gcd(a, b)`. Both arguments are nodes of a graph that have no value yet, such as placeholders. Return one node,
# the answer. The graph is built once, and then run for any pair.


# %% answer="euclid" points=2 minutes=7
def gcd(a, b):
    ### BEGIN SOLUTION
    divisor, _ = mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))
    return divisor
    ### END SOLUTION


# %%
check("euclid")

# %% probes="euclid"
import numpy as numeric

import minigrad as engine


def divisors(*pairs):
    graph = engine.Graph()
    with graph.as_default():
        first, second = engine.placeholder("int64", ()), engine.placeholder("int64", ())
        result = gcd(first, second)
    with engine.Session(graph) as session, numeric.errstate(all="ignore"):
        return [int(session.run(result, {first: p, second: q})) for p, q in pairs]


# Hint: a and b are nodes without a value: a Python `while` cannot ask them. The loop is a node, `mg.while_loop`, and
# the answer is a at its end.
divisors((48, 18), (18, 48), (7, 7))
# Hint: b may be 0 at once, a may be 0, and a remainder of 1 is not the end yet.
divisors((5, 0), (17, 4), (0, 5), (1, 1))
# Hint: Large numbers need many turns: let the test end the loop, not a number of turns.
divisors((832040, 514229), (2**20, 2**12), (3 * 5 * 7 * 11, 5 * 11 * 13), (2880067194370816120, 1779979416004714189))

# %% [markdown] hints="euclid"
# 1. There are two carries, a and b, and a test that looks at one of them: `mg.while_loop(test, body, (a, b))`.
# 2. The body returns the two new carries as a pair, of which the second is the remainder.
# 3. `mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))` gives both last carries: return the first.

# %% [markdown] shows="euclid"
# A loop in a graph has no fixed length: the graph is built once, and each pair of numbers takes as many turns as it
# needs.


# %% wrong="euclid"
# Shows: Python's while asked a node of the graph whether it is true, and it has no value yet.
# Hint: The decision is made at each turn of a run, so it has to be a node: mg.while_loop.
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


# %% wrong="euclid"
# Shows: Both carries came back, but the answer is one number.
# Hint: mg.while_loop gives all its carries, in their order. Return the one that holds the answer.
def gcd(a, b):
    return mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))


# %% wrong="euclid"
# Shows: The other carry was returned: it is 0 in the end, because that is what the loop waits for.
# Hint: The answer is what a is in the end.
def gcd(a, b):
    return mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))[1]


# %% wrong="euclid"
# Shows: The loop does a fixed number of turns: enough for small numbers, and too few for others.
# Hint: How many turns there are depends on the pair. Let the test look at b.
def gcd(a, b):
    def turn(a, b):
        return mg.where(b != 0, b, a), mg.where(b != 0, a % mg.maximum(b, 1), 0)

    for _ in range(8):
        a, b = turn(a, b)
    return a


# %% wrong="euclid"
# Shows: The function calls itself in a branch, and both branches are written down: that never ends.
# Hint: A graph has to be finished before it runs, so recursion would have to be unrolled. Write a loop: mg.while_loop.
def gcd(a, b):
    return mg.cond(b == 0, lambda: a, lambda: gcd(b, a % b))


# %% wrong="euclid"
# Shows: The remainder was computed by a division with /, which makes a float; a carry keeps its dtype.
# Hint: `a % b` is the remainder, and it is a whole number.
def gcd(a, b):
    return mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a - b * (a / b)), (a, b))[0]


# %% wrong="euclid"
# Shows: The test stops one turn too early: a remainder of 1 is not yet the end.
# Hint: The loop goes on as long as b is not 0.
def gcd(a, b):
    return mg.while_loop(lambda a, b: b > 1, lambda a, b: (b, a % b), (a, b))[0]


# %% wrong="euclid"
# Shows: The remainder was taken the wrong way round, of b divided by a.
# Hint: What takes the place of b is what is left of a: a % b.
def gcd(a, b):
    return mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, b % a), (a, b))[0]


# %% [markdown]
# ## 3. A loop of your own
#
# **2 points, 8 minutes.** Design a loop that stops by itself. Write two functions of a node x, which is one float:
# `go_on(x)` returns a truth value, and `turn(x)` returns the next x. You choose what the loop computes: a root, halving
# until x is small, interest until x has reached 100. It is right if
#
# - `mg.while_loop(go_on, turn, (x,))` ends within 1000 turns from every start between 1 and 50;
# - different starts take different numbers of turns;
# - the gradient of the result with respect to the start agrees with a nudge, and is not 0 at every start. (The check
#   nudges only where that does not change the number of turns.)


# %% answer="own_loop" points=2 minutes=8
### BEGIN SOLUTION
def go_on(x):
    return x > 1.0


def turn(x):
    return x * 0.7 - 0.1 / x


### END SOLUTION

# %%
check("own_loop")

# %% probes="own_loop"
import minigrad as engine

STARTS = [1.07, 2.3, 5.9, 11.3, 23.7, 49.1]


def next_of(x):
    """The next x, which a turn may give alone or, as a body does, in a tuple."""
    new = turn(x)
    return new[0] if isinstance(new, tuple | list) and len(new) == 1 else new


def looked_at():
    """For each start: the turns, the result, the gradient."""
    graph = engine.Graph()
    with graph.as_default():
        start = engine.placeholder("float64", ())
        last, count = engine.while_loop(
            lambda x, i: engine.graph.identity(go_on(x)), lambda x, i: (next_of(x), i + 1), (start, 0),
            maximum_iterations=1001,
        )  # fmt: skip
        (slope,) = engine.gradients(last, [start])
    slope = start * 0 if slope is None else slope
    with engine.Session(graph) as session:
        return [[part.item() for part in session.run([count, last, slope], {start: each})] for each in STARTS], [
            [part.item() for part in session.run([count, last], {start: each + h})]
            for each in STARTS
            for h in (-1e-6, 1e-6)
        ]


ends = decided_by_values = slopes = looked_at


@referee
def ends(looked):
    return all(count <= 1000 for count, _, _ in looked[0])


@referee
def decided_by_values(looked):
    return len({count for count, _, _ in looked[0]}) > 1


@referee
def slopes(looked):
    """Whether each gradient is the slope, where the nudge is a fair one; and whether one is not 0."""
    here, beside = looked
    fair = [(s, (b[1] - a[1]) / 2e-6) for (_, _, s), a, b in zip(here, beside[::2], beside[1::2]) if a[0] == b[0]]
    agree = all(abs(s - nudge) < 1e-3 * max(1, abs(nudge)) for s, nudge in fair)
    return {
        "gradients agree with nudges": len(fair) > 2 and agree,
        "a gradient is not 0": any(abs(s) > 1e-12 for s, _ in fair),
    }


# Hint: From one of the starts the loop takes more than 1000 turns: does each turn lead towards the end?
ends()
# Hint: The number of turns is the same for all starts: let `go_on` look at x.
decided_by_values()
# Hint: The gradients should agree with nudges, and one of them at least should not be 0. Rounding and comparing have
# no slope.
slopes()

# %% [markdown] hints="own_loop"
# 1. Begin with something that shrinks: as long as x is larger than some number, multiply it by less than 1.
# 2. A larger start needs more turns then. For a gradient each turn has to be smooth: no rounding, no comparison in it.
# 3. `go_on`: `return x > 1.0`. `turn`: `return 0.7 * x`.

# %% [markdown] shows="own_loop"
# The gradient of a loop is that of the turns that ran: their number is decided by the values, and has no gradient of
# its own.


# %% wrong="own_loop"
# Shows: It never ends: what a turn does leads away from what the test waits for.
# Hint: Follow one start by hand for three turns. Does x come nearer to the number in go_on?
def go_on(x):
    return x > 1.0


def turn(x):
    return x * 1.5


# %% wrong="own_loop"
# Shows: It never ends: there is no x at which the test would stop it, or the turns go past that x.
# Hint: Let the test ask whether x is still larger than some number; asking whether it differs from that number is not
# enough.
def go_on(x):
    return x != 1.0


def turn(x):
    return x * 0.5


# %% wrong="own_loop"
# Shows: No turn is ever taken, so the number of turns is the same for all starts, and the values decide nothing.
# Hint: For starts between 1 and 50 go_on has to hold at first, and for some of them longer than for others.
def go_on(x):
    return x < 0.0


def turn(x):
    return x * 0.5


# %% wrong="own_loop"
# Shows: One turn goes to the end at once, from wherever it starts: the values decide nothing, and the result is always
# the same.
# Hint: Let a turn go only part of the way, so that a start further off needs more turns.
def go_on(x):
    return x > 1.0


def turn(x):
    return x * 0 + 1


# %% wrong="own_loop"
# Shows: The gradient is 0 at every start. Either a turn rounds or compares, or all starts end at the same number.
# Hint: The result has to change when the start changes a little. Multiply or divide in a turn, and stop at a border.
def go_on(x):
    return x > 1.0


def turn(x):
    return mg.floor(x / 2)


# %% wrong="own_loop"
# Shows: Python's `not` asks a node for its truth, as `if`, `and` and `or` do, and it has none yet.
# Hint: Return the comparison itself: `return x > 1.0` is a node, and the loop asks it at every turn.
def go_on(x):
    return not x <= 1.0


def turn(x):
    return x * 0.5


# %% wrong="own_loop"
# Shows: A turn changes the dtype or the shape of x, and a carry keeps both.
# Hint: x comes in as one float and must come out as one float.
def go_on(x):
    return x.sum() > 1.0


def turn(x):
    return mg.stack([x, x]).sum(0, keepdims=True) * 0.25


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. A gradient to repair
#
# **2 points, 8 minutes.** Somebody wants x · log x, and 0 wherever x is 0 or less. After one step of training the loss
# is NaN:
#
# ```python
# def xlogx(x):
#     return mg.where(x > 0, x * mg.log(x), 0 * x)
# ```
#
# All its values are right. But `where` computes both sides, and on the way back it sends 0 into the side not taken. Try
# the gradient in a session, at x = 2, 0 and −3.
#
# Write `xlogx(x)` for a node x that is one number. The values stay as they are. The gradient is log x + 1 for x > 0,
# and 0 elsewhere.


# %% answer="xlogx" points=2 minutes=8
def xlogx(x):
    ### BEGIN SOLUTION
    return mg.cond(x > 0, lambda: x * mg.log(x), lambda: 0 * x)
    ### END SOLUTION


# %%
check("xlogx")

# %% probes="xlogx"
import numpy as numeric

import minigrad as engine


def value_and_slope(*numbers):
    graph = engine.Graph()
    with graph.as_default():
        given = engine.placeholder("float64", ())
        result = xlogx(given)
        (slope,) = engine.gradients(result, [given])
    wanted = [result] if slope is None else [result, slope]
    with engine.Session(graph) as session, numeric.errstate(all="ignore"):
        return [[round(float(part), 9) + 0.0 for part in session.run(wanted, {given: each})] for each in numbers]


# Hint: For x above 0 the value is x · log x and the gradient log x + 1.
value_and_slope(2.0, 0.5)
# Hint: For x below 0 the value and the gradient are 0. The log must not be entered at all.
value_and_slope(-3.0, -0.25)
# Hint: At 0 the value and the gradient are 0.
value_and_slope(0.0)
# Hint: A small x above 0 is still above 0: change nothing there.
value_and_slope(1e-3)
# Hint: Very near 0, on both sides: the border is 0 itself.
value_and_slope(1e-9, -1e-9)

# %% [markdown] hints="xlogx"
# 1. `where` computes both sides, and sends a gradient of 0 into the side not taken. What is 0 times the slope there?
# 2. The side not taken must not be entered at all; or it must be given a number at which nothing goes wrong.
# 3. `mg.cond(x > 0, lambda: ..., lambda: 0 * x)`: what is not defined stands *inside* the first function.

# %% [markdown] shows="xlogx"
# What must not be computed at some numbers has to be kept from them in the graph itself: to discard the result
# afterwards does not save the gradient.


# %% wrong="xlogx"
# Shows: Nothing has changed: the gradient is nan where x is 0 or less.
# Hint: The log of a negative number is computed, backwards too, although it is not taken. Which operation enters one
# side alone?
def xlogx(x):
    return mg.where(x > 0, x * mg.log(x), 0 * x)


# %% wrong="xlogx"
# Shows: Python's if asked a node of the graph whether it is true, and it has no value yet.
# Hint: The decision has to be a node: mg.cond takes the condition, and a function for each of the two ways.
def xlogx(x):
    if x > 0:
        return x * mg.log(x)
    return 0 * x


# %% wrong="xlogx"
# Shows: Now the values are nan as well: the log is taken whatever x is, and its nan goes into the result.
# Hint: 0 × nan is nan. And what stands outside the functions of a cond is a node outside the branches: write the log
# inside the first one.
def xlogx(x):
    y = x * mg.log(x)
    other = 0 * x
    return mg.cond(x > 0, lambda: y, lambda: 0 * y + other)


# %% wrong="xlogx"
# Shows: The number was mended inside the log by adding a little: values and gradients are no longer right.
# Hint: The log of x + 0.000001 is a different function, and at x = −3 it is nan all the same. Do not enter that side.
def xlogx(x):
    return mg.where(x > 0, x * mg.log(x + 1e-6), 0 * x)


# %% wrong="xlogx"
# Shows: Where x is 0 or less the gradient is 1: the second branch gives x itself.
# Hint: For x of 0 or less the value is meant to be 0, and so is the gradient: 0 * x.
def xlogx(x):
    return mg.cond(x > 0, lambda: x * mg.log(x), lambda: x)


# %% wrong="xlogx"
# Shows: The log is kept from going below a smallest number: there is no nan, but x times a constant is left, and its
# gradient is not 0.
# Hint: That is half the way: choose with where or cond as well, so that nothing of x · log x is left for x below 0.
def xlogx(x):
    return x * mg.log(mg.maximum(x, 1e-12))


# %% [markdown]
# ### 5. A polynomial on a budget
#
# **2 points, 8 minutes.** Horner's rule computes c₀xⁿ + c₁xⁿ⁻¹ + … + cₙ from left to right. Begin with 0. For each
# coefficient, multiply by x and add the coefficient. For the coefficients 1, 2, 3 and x = 2 it goes from 0 to 1, 4 and
# 11.
#
# Write `horner(coefficients, x)` for two nodes: `coefficients` has one axis, whose length may be **unknown** while the
# graph is built, and x is one number. The graph may have at most 30 nodes, including those inside a loop, for any
# number of coefficients. `size(graph)` counts them.


# %% name="size"
def size(graph):
    """How many nodes a graph has, those inside of control-flow nodes included."""

    def of(nodes):
        return sum(1 + sum(of(part.nodes) for part in getattr(node.op, "graphs", ())) for node in nodes)

    return of(graph.get_operations())


# %% answer="horner" points=2 minutes=8
def horner(coefficients, x):
    ### BEGIN SOLUTION
    y, _ = mg.lax.scan(lambda y, c: (y * x + c, None), mg.tensor(0.0), coefficients)
    return y
    ### END SOLUTION


# %%
check("horner")

# %% probes="horner"
import minigrad as engine


def nodes_of(graph):
    def of(nodes):
        return sum(1 + sum(of(part.nodes) for part in getattr(node.op, "graphs", ())) for node in nodes)

    return of(graph.get_operations())


def polynomial(length, *cases):
    graph = engine.Graph()
    with graph.as_default():
        c, at = engine.placeholder("float64", (length,)), engine.placeholder("float64", ())
        result = horner(c, at)
    with engine.Session(graph) as session:
        values = [float(session.run(result, {c: some, at: number})) for some, number in cases]
    return values, nodes_of(graph)


@referee
def polynomial(sent):
    values, nodes = sent
    return {"values": values, "within 30 nodes": nodes <= 30}


# Hint: Three coefficients, the highest power first: begin with 0, multiply by x, then add the next one.
polynomial(3, ([1.0, 2.0, 3.0], 2.0), ([0.5, 0.0, -1.0], -3.0))
# Hint: The number of coefficients is unknown while the graph is built: loop in the graph, along the axis.
polynomial(None, ([1.0, 2.0, 3.0], 2.0), ([4.0], 10.0), ([1.0, 0.0, 0.0, 0.0, 1.0], 3.0))
# Hint: Forty coefficients, and still at most 30 nodes.
polynomial(40, ([1.0] * 40, 0.5))

# %% [markdown] hints="horner"
# 1. A loop along an axis, with one carry: that is a scan. The carry is the value so far; what it begins with is 0.0.
# 2. The function of the scan takes the carry and one coefficient, and returns a pair: the next carry, and None.
# 3. `mg.lax.scan(lambda y, c: (y * x + c, None), mg.tensor(0.0), coefficients)` gives the last carry first.

# %% [markdown] shows="horner"
# The body of a loop is in the graph once, and so the graph is as large for three coefficients as for three million.


# %% wrong="horner"
# Shows: Python's for goes over the coefficients, and so it has to know how many there are.
# Hint: A loop over an axis of unknown length has to be a node: mg.lax.scan.
def horner(coefficients, x):
    y = 0.0
    for c in coefficients:
        y = y * x + c
    return y


# %% wrong="horner"
# Shows: Python's range was given a length that nobody knows yet, and refused: it needs a number at once.
# Hint: A loop over an axis of unknown length has to be a node: mg.lax.scan, or fori_loop with the length as its end.
def horner(coefficients, x):
    y = 0.0
    for i in range(coefficients.shape[0]):
        y = y * x + coefficients[i]
    return y


# %% wrong="horner"
# Shows: The coefficients are taken from the right: the constant is multiplied most often.
# Hint: The first coefficient belongs to the highest power. Go from left to right.
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: (y * x + c, None), mg.tensor(0.0), coefficients, reverse=True)[0]


# %% wrong="horner"
# Shows: The coefficient was added before multiplying: everything has one power of x too many.
# Hint: Multiply what is there by x, and then add the coefficient: y * x + c.
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: ((y + c) * x, None), mg.tensor(0.0), coefficients)[0]


# %% wrong="horner"
# Shows: The carry begins as a whole number and becomes a float: a carry keeps its dtype.
# Hint: Begin with 0.0, and not with 0.
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: (y * x + c, None), mg.tensor(0), coefficients)[0]


# %% wrong="horner"
# Shows: The stack of what all turns gave was returned; only the last of them is the answer.
# Hint: scan gives a pair: the last carry, and the stack. Return the first.
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: (y * x + c, y * x + c), mg.tensor(0.0), coefficients)[1]


# %% wrong="horner"
# Shows: The function of the scan returns the carry alone, but it should return a pair.
# Hint: Return (y * x + c, None): the next carry, and nothing to stack.
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: y * x + c, mg.tensor(0.0), coefficients)[0]


# %% [markdown]
# ## What you have now
#
# Both ways of a branch are built, and one is run; a body is built once, and run at every turn; a carry comes out with
# the dtype and shape that it went in with; and the gradient of a loop is that of the turns that ran. Writing lambdas
# for each decision is a nuisance: the next lesson brings Python's `if` and `while` back.
#
# **Next**: [11 Tracing](../lessons/11_tracing.ipynb).
