# ---
# jupyter:
#   minigrad:
#     title: Backward, by hand
#     minutes: 40
#     lesson: 02_chain_rule_backwards
#     concepts: [A5, A6, A9]
# ---

# %% [markdown]
# # 02 Backward, by hand
#
# You compute gradients with a pencil, say what a second backward pass does, repair a walk that goes wrong, call in a
# referee, and set a trap of your own. About 40 minutes, 10 points, in five parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution
from minigrad.scalar.value import history

# %% [markdown]
# ## 1. With a pencil
#
# **2 points, 10 minutes.** Given are `p = x * y`, `s = p + w` and `L = s * x`, at x = 2, y = 3, w = 4. Note that x is
# used twice. Draw the graph and write the values in. Then go backwards from L, arrow by arrow.
#
# Give five gradients of L: `dL_ds`, `dL_dp`, `dL_dw`, `dL_dy` and `dL_dx`. Each says how many times as far L moves as
# that value. (Ask the engine only afterwards: then it shows you where your arrows differ from its own.)

# %% answer="by_hand" points=2 minutes=10
### BEGIN SOLUTION
dL_ds = 2
dL_dp = 2
dL_dw = 2
dL_dy = 4
dL_dx = 16
### END SOLUTION

# %%
check("by_hand")

# %% probes="by_hand"
# Hint: `dL_ds`: in L = s · x the slope towards s is the value of x.
dL_ds
# Hint: `dL_dp`: in s = p + w a nudge of p moves s by as much. What arrives at s goes on to p unchanged.
dL_dp
# Hint: `dL_dw`: in s = p + w a nudge of w moves s by as much. What arrives at s goes on to w unchanged.
dL_dw
# Hint: `dL_dy`: multiply what arrives at p by the slope of p = x · y towards y.
dL_dy
# Hint: `dL_dx`: two arrows leave x, one straight to L and one through p and s. Add what both bring.
dL_dx

# %% [markdown] hints="by_hand"
# 1. Begin at L = s · x. With x = 2 fixed, a nudge of s arrives doubled.
# 2. A sum passes on what it gets: p and w have the gradient of s. In p = x · y, the slope towards y is the value of x.
# 3. Two arrows leave x. One goes straight to L, and its slope is the value of s; the other goes through p and s. Add
# what the two bring.

# %% [markdown] shows="by_hand"
# One walk back answers for every box at once, and what is used twice gets the sum of what its two arrows bring.

# %% wrong="by_hand"
# Shows: x got what comes straight from L, and not what comes by way of p.
# Hint: x is used twice, in L = s · x and in p = x · y. Follow the second arrow as well, and add: 10, and something.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 4, 10

# %% wrong="by_hand"
# Shows: x got what comes by way of p, and not what comes straight from L.
# Hint: There is an arrow from x to L itself, in L = s · x. Its slope is the value of s. Add what it brings.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 4, 6

# %% wrong="by_hand"
# Shows: What the two arrows bring to x was multiplied.
# Hint: Along a path, slopes are multiplied. Where paths meet, what they bring is added.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 4, 60

# %% wrong="by_hand"
# Shows: The slope of each step is right, and the gradient that arrives was left out: y and x got the slope alone.
# Hint: Outgoing is incoming times slope. At p the incoming gradient is 2: p passes on 2 · x to y, and 2 · y to x.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 2, 13

# %% wrong="by_hand"
# Shows: p and w got the slope of the sum alone, and what arrives at s was left out.
# Hint: A sum passes on what comes to it, and at s that is 2: p and w get 2 × 1. Then go on from p in the same way.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 1, 1, 2, 13

# %% wrong="by_hand"
# Shows: In p = x · y, the slope towards each factor was taken from that factor itself.
# Hint: Nudge y by 0.001 and leave x: p moves by 0.001 · x. The slope towards one factor is the value of the other.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 6, 14

# %% wrong="by_hand"
# Shows: At x, the way through p and s brought only its last slope: what had arrived at p was left out.
# Hint: 2 arrives at p. Multiply it by the slope from p to x, and then add what comes straight from L.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 4, 13

# %% wrong="by_hand"
# Shows: y got what arrives at p unchanged, but p is a product.
# Hint: The slope from p to y is x: multiply by it.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2, 2, 2, 2, 16

# %% wrong="by_hand"
# Shows: Only dL/dL is 1. A nudge of any other number does not arrive at L as large as it was.
# Hint: L = s · x, and so dL/ds is x, not 1. Begin there, and multiply along each path.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 1, 1, 1, 1, 1

# %% wrong="by_hand"
# Shows: In each product, the value of a factor was taken for the slope towards that factor.
# Hint: The slope towards one factor is the value of the other: towards s it is x, which is 2.
dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 10, 10, 10, 30, 22

# %% [markdown]
# ## 2. Twice
#
# **1 point, 4 minutes.** Read this program. Do not run it yet. Each call of `loss` builds a new graph, and `x` is the
# same leaf each time. Which three numbers are printed? Call them `first`, `second` and `third`.
#
# ```python
# def loss(x):
#     return x * x + x
#
# x = mg.Value(3.0)
# loss(x).backward(); print(x.grad)     # first
# loss(x).backward(); print(x.grad)     # second
# x.grad = 0.0
# loss(x).backward(); print(x.grad)     # third
# ```

# %% answer="twice" points=1 minutes=4
### BEGIN SOLUTION
first, second, third = 7, 14, 7
### END SOLUTION

# %%
check("twice")

# %% probes="twice"
# Hint: `first`: three arrows leave x, two into x · x and one into the sum.
first
# Hint: `second`: the second pass adds to what is in x.grad already.
second
# Hint: `third`: x.grad was set to 0 before this pass, and the print comes after it.
third

# %% [markdown] hints="twice"
# 1. x² + x at 3: three arrows leave x, two into the product and one into the sum.
# 2. `.grad` is what was there before, plus what this pass brings.
# 3. If the first number is g, the second is g + g, and after setting it to 0 the third is g.

# %% [markdown] shows="twice"
# `backward()` adds to `.grad` and does not replace what is there, and so a training loop clears the gradients before
# each step.

# %% wrong="twice"
# Shows: The second pass is thought to replace what the first one left.
# Hint: backward() adds to .grad. That is why a training loop sets the gradients to zero before each step.
first, second, third = 7, 7, 7

# %% wrong="twice"
# Shows: Setting x.grad to 0 is thought to change nothing for the passes after it, as if the engine kept its own
# account.
# Hint: .grad is the only account there is: what you write there is what the next pass adds to.
first, second, third = 7, 14, 21

# %% wrong="twice"
# Shows: The second pass is thought to multiply what the first one left.
# Hint: Gradients that meet are added, whether they come along two arrows or in two passes.
first, second, third = 7, 49, 7

# %% wrong="twice"
# Shows: 12 is the value of x · x + x at 3, but the question is about x.grad.
# Hint: The gradient says how many times as far the result moves as x. Count the arrows that leave x, and what each
# brings back.
first, second, third = 12, 24, 12

# %% wrong="twice"
# Shows: `third` is what was written into x.grad, and the line after it goes backwards once more.
# Hint: The third print comes after another backward pass, which adds what it finds to the 0.
first, second, third = 7, 14, 0

# %% wrong="twice"
# Shows: Setting x.grad to 0 is thought to be without effect, and the third pass to add nothing.
# Hint: .grad is an ordinary number: after x.grad = 0.0 it is 0, and the next pass adds to that.
first, second, third = 7, 14, 14

# %% wrong="twice"
# Shows: x · x was counted, and the second term, x alone, was not.
# Hint: Nudge x in x · x + x: the product moves by 6 nudges, and the sum by one more.
first, second, third = 6, 12, 6

# %% wrong="twice"
# Shows: One of the arrows from x into x · x is missing.
# Hint: In x · x the same leaf is both factors, and each arrow brings 3.
first, second, third = 4, 8, 4

# %% [markdown]
# ## 3. A walk to repair
#
# Somebody wrote this walk, and it passes their test:
#
# ```python
# def backward(y):
#     y.grad = 1.0
#     waiting = [y]
#     while waiting:
#         v = waiting.pop()
#         for parent, slope in v.parents:
#             parent.grad += v.grad * slope
#             waiting.append(parent)
#
# x, w = mg.Value(2.0), mg.Value(5.0)
# backward(x * w + w)                   # x.grad is 5 and w.grad is 3: right
# ```

# %% [markdown]
# **3 points, 10 minutes.** Write `backward(y)` so that it is right on every graph of Values. It leaves ∂y/∂v in the
# `.grad` of every value v behind y, and returns nothing. The walk above is wrong on `t = x + w; y = t * t`, whose
# gradient with respect to x is 2t, and on a chain of ten `y = y + y`.
#
# - Before the call, every `.grad` is 0.
# - Visit each value once. A graph can be thousands of values deep, too deep for a function that calls itself.
# - `history(y)` lists y and everything it came from, parents before children, each once. `v.parents` holds pairs of a
#   value and a slope.
# - Write the walk yourself: do not call the engine's own, `y.backward()`.


# %% answer="repair" points=3 minutes=10
def backward(y):
    ### BEGIN SOLUTION
    y.grad = 1.0
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            parent.grad += v.grad * slope
    ### END SOLUTION


# %%
check("repair")

# %% probes="repair"
import sys
from dataclasses import replace

from minigrad import Value
from minigrad.draw.scalars import picture_of_values
from minigrad.draw.words import number
from minigrad.scalar.value import history as all_of


class NotYourOwnWalk(Exception):
    pass


class TooManyVisits(Exception):
    pass


class Unwalked(Value):
    """A value with no walk of its own, along which the engine's does not go either, wherever it was kept."""

    __slots__ = ()
    most = visits = 0

    def backward(self):
        raise NotYourOwnWalk("y.backward() may not be called here: write the walk")

    @property
    def parents(self):
        asks = sys._getframe(1).f_code
        if asks.co_name == "backward" and asks.co_filename.endswith("value.py"):
            self.backward()
        Unwalked.visits += 1
        if Unwalked.visits > Unwalked.most:
            raise TooManyVisits(f"the parents of values were read more than {Unwalked.most} times")
        return Value.parents.fget(self)


def walked(build, *numbers, visits=10**9):
    """The leaves of a graph, and its result, after the learner's walk."""
    leaves = [Value(number) for number in numbers]
    y = build(*leaves)
    for value in all_of(y):
        value.__class__ = Unwalked
    Unwalked.most, Unwalked.visits = visits, 0
    backward(y)
    return leaves, y


def after(build, *numbers, visits=10**9):
    return [leaf.grad for leaf in walked(build, *numbers, visits=visits)[0]]


def graph_of(build, *numbers):
    """The graph after the walk, for drawing. Only the gradients of its leaves have to be right."""
    leaves, y = walked(build, *numbers)
    picture = picture_of_values([y], dict(zip("xw", leaves)))
    pairs = zip(picture.boxes, all_of(y), strict=True)
    boxes = [replace(box, grad=number(value.grad) if value in leaves else "") for box, value in pairs]
    return replace(picture, boxes=tuple(boxes))


def squared_sum(x, w):
    t = x + w
    return t * t


def chain(x):
    for _ in range(10):
        x = x + x
    return x


def forty_doublings(x):
    for _ in range(40):
        x = x + x
    return x


def long(x):
    for _ in range(3000):
        x = x * 1.0
    return x


def early_and_late(x, w):
    t = x * w
    return t.tanh() * x + t


# Hint: x * w + w: w is used twice, and `.grad` of y starts at 1.
# Graph: graph_of(lambda x, w: x * w + w, 2.0, 5.0)
after(lambda x, w: x * w + w, 2.0, 5.0)
# Hint: t * t with t = x + w: t is used twice, and should pass its gradient on once, when both pieces have arrived.
# Graph: graph_of(squared_sum, 2.0, 5.0)
after(squared_sum, 2.0, 5.0)
# Hint: Ten doublings: each value should pass its gradient on once. The gradient of x is 2 to the power 10.
# Graph: graph_of(chain, 1.0)
after(chain, 1.0)
# Hint: Each path is walked on its own: 40 doublings have 41 values and 2 to the power 40 paths, which never end. Visit
# each value once.
after(forty_doublings, 1.0, visits=10_000)
# Hint: tanh(t) · x + t: t is met early and gets its last piece late. In which order are the values visited?
# Graph: graph_of(early_and_late, 0.5, -1.5)
after(early_and_late, 0.5, -1.5)
# Hint: y may be the leaf itself: then its `.grad` is 1.
# Graph: graph_of(lambda x: x, 4.0)
after(lambda x: x, 4.0)
# Hint: (x + 0) · (w + 0) + x at equal numbers: values with equal numbers are still different values.
# Graph: graph_of(lambda x, w: (x + 0) * (w + 0) + x, 2.0, 2.0)
after(lambda x, w: (x + 0) * (w + 0) + x, 2.0, 2.0)
# Hint: A chain of 3000 values is deeper than a function that calls itself can go. Use a loop.
after(long, 1.5)

# %% [markdown] hints="repair"
# 1. On `t * t`, note down each time something arrives at t, and each time t passes something on.
# 2. A value may pass its gradient on once, and only when everything has arrived at it. In which order must you go?
# 3. Go through `reversed(history(y))` with one loop, and keep the line with `+=` as it is.

# %% [markdown] shows="repair"
# A value may pass its gradient on when all of it has arrived, and a topological order walked backwards sees to that
# with one visit each.


# %% wrong="repair"
# Shows: Nothing has changed: a value still passes its gradient on each time a piece arrives, earlier pieces included.
# Hint: On t * t, t comes up twice. The first time it passes on what has arrived; what does it pass on the second time?
def backward(y):
    y.grad = 1.0
    waiting = [y]
    while waiting:
        v = waiting.pop()
        for parent, slope in v.parents:
            parent.grad += v.grad * slope
            waiting.append(parent)


# %% wrong="repair" misconception="M9"
# Shows: The values already seen are left out, so that each passes on once. But some pass on before all of it has
# arrived.
# Hint: Without an order a walk is not only slower, as many believe: it is wrong. Once is not enough, it must also be
# late enough. Go in an order in which children come before parents.
def backward(y):
    y.grad = 1.0
    waiting, seen = [y], set()
    while waiting:
        v = waiting.pop()
        if v not in seen:
            seen.add(v)
            for parent, slope in v.parents:
                parent.grad += v.grad * slope
                waiting.append(parent)


# %% wrong="repair" misconception="M1"
# Shows: The order is right, and `=` in place of `+=` throws away what arrived before.
# Hint: A gradient may not be written with = where a value is used twice: it receives two pieces. Keep the line with +=
# from the original.
def backward(y):
    y.grad = 1.0
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            parent.grad = v.grad * slope


# %% wrong="repair"
# Shows: The list is followed from the leaves to y: the leaves pass on before anything has arrived.
# Hint: history lists parents before children. You need it the other way round: reversed(history(y)).
def backward(y):
    y.grad = 1.0
    for v in history(y):
        for parent, slope in v.parents:
            parent.grad += v.grad * slope


# %% wrong="repair"
# Shows: The waiting values are now taken from the front, but a value still passes on each time a piece arrives.
# Hint: On t * t, t waits twice. Whichever end you take it from, the second time it passes on the first piece again.
def backward(y):
    y.grad = 1.0
    waiting = [y]
    while waiting:
        v = waiting.pop(0)
        for parent, slope in v.parents:
            parent.grad += v.grad * slope
            waiting.append(parent)


# %% wrong="repair"
# Shows: The gradients of short walks are right, but each path is walked on its own: 40 doublings never end.
# Hint: Let what arrives at a value add up in its `.grad`, and pass the sum on once, in an order that has children
# before parents.
def backward(y):
    waiting = [(y, 1.0)]
    while waiting:
        v, g = waiting.pop()
        v.grad += g
        for parent, slope in v.parents:
            waiting.append((parent, g * slope))


# %% wrong="repair"
# Shows: Each parent gets the slope alone: what has arrived at v is not passed on.
# Hint: Outgoing is incoming times slope, and what came in is in v.grad.
def backward(y):
    y.grad = 1.0
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            parent.grad += slope


# %% wrong="repair"
# Shows: The engine was asked to walk. The values of this check have no walk of their own.
# Hint: y.backward() is what you are writing here: set y.grad, and go through the values of history(y) yourself.
def backward(y):
    y.backward()


# %% wrong="repair"
# Shows: The walk calls itself for each value, and a long chain is deeper than Python allows: it ends in an error.
# Hint: A graph can be thousands of values deep. history(y) is the order already: go through it with a loop.
def backward(y):
    y.grad = 1.0
    order, seen = [], set()

    def visit(v):
        if v not in seen:
            seen.add(v)
            for parent, _ in v.parents:
                visit(parent)
            order.append(v)

    visit(y)
    for v in reversed(order):
        for parent, slope in v.parents:
            parent.grad += v.grad * slope


# %% wrong="repair"
# Shows: Nothing arrives anywhere: after the walk the gradient of every leaf is still 0.
# Hint: Does y.grad start as 1.0, as in the original? Does the loop pass it on, and into the `.grad` of each parent?
def backward(y):
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            parent.grad += v.grad * slope


# %% [markdown]
# ## 4. The referee
#
# **2 points, 8 minutes.** A gradient that is there need not be right. `mg.gradcheck(f, x, raise_exception=False)`
# nudges the tensor x a little, and compares how far `f(x)` moves with the gradient that backward finds. It returns True
# where the two agree, else False.
#
# Write `suspects(functions, points)`.
#
# - `functions` is a dictionary: names, and functions of a tensor.
# - `points` is a list of numbers. Make a new tensor for each check: `mg.tensor(float(point))`.
# - Return a sorted list: the names of the functions whose backward is wrong at one or more of the points.
#
# Two functions to try it on are given below: `suspects(functions, [0.5, 2])` is `["cube"]`. `bent` is right; `cube` has
# a backward of its own, and a wrong one. (Exercise 03 shows how to write an operation such as `WrongCube`. Here you
# only need to call `functions["cube"]`.)


# %% name="functions"
from minigrad.core.op import Elementwise


class WrongCube(Elementwise):
    def forward(self, xp, x):
        return x * x * x

    def partials(self, y, x):
        return (3 * x,)


functions = {"bent": lambda x: x * x.tanh(), "cube": lambda x: x.apply(WrongCube())}


# %% answer="referee" points=2 minutes=8
def suspects(functions, points):
    ### BEGIN SOLUTION
    def wrong(f):
        return not all(mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False) for x in points)

    return sorted(name for name, f in functions.items() if wrong(f))
    ### END SOLUTION


# %%
check("referee")

# %% probes="referee"
from minigrad.core.op import Elementwise


class Cube(Elementwise):
    def forward(self, xp, x):
        return x * x * x

    def partials(self, y, x):
        return (3 * x,)


class Slow(Elementwise):
    def forward(self, xp, x):
        return xp.sin(x)

    def partials(self, y, x):
        return (x * 0 + 1,)


def sine(x):
    return x.sin()


def cube(x):
    return x.apply(Cube())


def slow(x):
    return x.apply(Slow())


def parabola(x):
    return x * x


# Hint: Three functions, and only the backward of `cube` is wrong.
suspects({"sine": sine, "cube": cube, "parabola": parabola}, [2.0])
# Hint: All functions are right here, so the list is empty.
suspects({"sine": sine, "parabola": parabola}, [0.5, 2.0])
# Hint: Both are wrong: both names should be in the list, sorted.
suspects({"slow": slow, "cube": cube}, [0.5, 2.0])
# Hint: At 1 the wrong backward of `cube` is right by chance: no suspect at this point.
suspects({"cube": cube}, [1.0])
# Hint: A function is a suspect if it is wrong at one point or more, even if it is right at another. Ask about all
# points.
suspects({"cube": cube, "slow": slow}, [1.0, 0.0])
# Hint: At 0 the wrong backward of `slow` is right by chance: no suspect at this point.
suspects({"slow": slow, "sine": sine}, [0.0])
# Hint: At 0 and at 1 the wrong backward of `cube` is right by chance: no suspect at these points.
suspects({"cube": cube}, [0.0, 1.0])
# Hint: A point may be a whole number, such as 3: make it a float before it becomes a tensor.
suspects({"cube": cube, "parabola": parabola}, [1.0, 3])
# Hint: At −1.5 only `slow` is wrong.
suspects({"slow": slow, "sine": sine}, [-1.5])
# Hint: Without functions, or without points, there is nothing to suspect: the list is empty.
suspects({}, [2.0])
suspects({"cube": cube}, [])

# %% [markdown] hints="referee"
# 1. For one function and one point: `mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False)` is True or False.
# 2. A function is suspect if it is not True at all of the points.
# 3. `sorted(name for name, f in functions.items() if not all(... for x in points))`.

# %% [markdown] shows="referee"
# A nudge finds a slope without the chain rule, and so it catches a derivative that is wrong and raises no error.


# %% wrong="referee" misconception="M13"
# Shows: A gradient that is not None is taken for a right one. The backward of `cube` leaves a number too, and a wrong
# one.
# Hint: A gradient that is there need not be right: a wrong local slope leaves a number, too. Ask mg.gradcheck whether
# it agrees with a nudge.
def suspects(functions, points):
    def missing(f, number):
        x = mg.tensor(float(number), requires_grad=True)
        f(x).backward()
        return x.grad is None

    return sorted(name for name, f in functions.items() if any(missing(f, number) for number in points))


# %% wrong="referee"
# Shows: The functions whose backward is right were listed: gradcheck says True where it agrees.
# Hint: A function is suspect where gradcheck does not agree: put a `not` in.
def suspects(functions, points):
    def agreed(f):
        return all(mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False) for x in points)

    return sorted(name for name, f in functions.items() if agreed(f))


# %% wrong="referee"
# Shows: Only the first point was looked at. A wrong derivative may well be right at one point: 3x and 3x² meet at 0
# and 1.
# Hint: Look at every point, and let one disagreement be enough.
def suspects(functions, points):
    def wrong(f):
        return not mg.gradcheck(f, mg.tensor(float(points[0])), raise_exception=False)

    return sorted(name for name, f in functions.items() if wrong(f))


# %% wrong="referee"
# Shows: A function goes free as soon as it is right at one of the points.
# Hint: One disagreement is enough: a function is a suspect if `any` of the points disagrees, so not only if all do.
def suspects(functions, points):
    def right(f):
        return any(mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False) for x in points)

    return sorted(name for name, f in functions.items() if not right(f))


# %% wrong="referee"
# Shows: gradcheck raised its error at the first disagreement, and so there was no list.
# Hint: Give it raise_exception=False: then it is False where it would have raised.
def suspects(functions, points):
    def wrong(f):
        return not all(mg.gradcheck(f, mg.tensor(float(x))) for x in points)

    return sorted(name for name, f in functions.items() if wrong(f))


# %% wrong="referee"
# Shows: The right names are there, in the order of the dictionary.
# Hint: The names should be in alphabetical order: `sorted(...)` returns a list.
def suspects(functions, points):
    def wrong(f):
        return not all(mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False) for x in points)

    return [name for name, f in functions.items() if wrong(f)]


# %% wrong="referee"
# Shows: It gives a set, and a set has no order.
# Hint: The answer should be a sorted list: wrap the set in `sorted(...)`.
def suspects(functions, points):
    def wrong(f):
        return not all(mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False) for x in points)

    return {name for name, f in functions.items() if wrong(f)}


# %% wrong="referee"
# Shows: It gives a generator, which has not looked at any function yet.
# Hint: The answer should be a sorted list: wrap the generator in `sorted(...)`.
def suspects(functions, points):
    def wrong(f):
        return not all(mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False) for x in points)

    return (name for name, f in functions.items() if wrong(f))


# %% wrong="referee"
# Shows: The function ends in the first round of the loop, so only one function was asked, at one point.
# Hint: A `return` inside a loop ends the whole function. Move it to the left, below both loops.
def suspects(functions, points):
    bad = []
    for name, f in functions.items():
        for x in points:
            if not mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False):
                bad.append(name)
            return sorted(bad)
    return bad


# %% wrong="referee"
# Shows: A name is listed once for each point at which its backward is wrong.
# Hint: Stop at the first bad point, or collect the names in a set.
def suspects(functions, points):
    def wrong(f, x):
        return not mg.gradcheck(f, mg.tensor(float(x)), raise_exception=False)

    return sorted(name for name, f in functions.items() for x in points if wrong(f, x))


# %% [markdown]
# ## 5. A trap of your own
#
# Here are three walks, each with a mistake. On many graphs they find the right gradient all the same, and pass a test
# on such a graph.


# %% name="walks"
def overwriting(y):
    """Writes = for +=."""
    gradient = dict.fromkeys(history(y), 0.0)
    gradient[y] = 1.0
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            gradient[parent] = gradient[v] * slope
    return gradient


def too_early(y):
    """Visits each value once, in the order in which it meets them."""
    gradient = dict.fromkeys(history(y), 0.0)
    gradient[y] = 1.0
    met = [y]
    for v in met:
        for parent, slope in v.parents:
            gradient[parent] += gradient[v] * slope
            if parent not in met:
                met.append(parent)
    return gradient


# %%
def too_often(y):
    """Passes on all that has arrived, each time something arrives."""
    gradient = dict.fromkeys(history(y), 0.0)
    gradient[y] = 1.0
    waiting = [y]
    for v in waiting:
        for parent, slope in v.parents:
            gradient[parent] += gradient[v] * slope
            waiting.append(parent)
    return gradient


# %% [markdown]
# **2 points, 8 minutes.** Set a trap for all three. Write `trap(x)`: it gets a Value x, and returns a Value y that is
# computed from x. On the graph of y, *each* of the three walks must find a wrong gradient of x, one that differs from
# what `backward()` finds.
#
# - The formula is up to you, but its picture has *at most five boxes*: x, constants and operations all count.
# - It must work for any x between 0.5 and 2.
#
# To try it: `y = trap(x); y.backward(); print(x.grad, overwriting(y)[x], too_early(y)[x], too_often(y)[x])`.


# %% answer="trap" points=2 minutes=8
def trap(x):
    ### BEGIN SOLUTION
    s = x * x
    return s + s.exp()
    ### END SOLUTION


# %%
check("trap")


# %% probes="trap"
from math import isclose

from minigrad import Value
from minigrad.draw.scalars import picture_of_values
from minigrad.scalar.value import history as all_of


def pieces(parents, put, often, order):
    """The three walks, written once more: what is put where it meets, how often, and in which order."""
    gradient = [0.0] * (len(parents) - 1) + [1.0]
    for v in order:
        for parent, slope in parents[v]:
            gradient[parent] = gradient[v] * slope + (gradient[parent] if put else 0.0)
            if often or parent not in order:
                order.append(parent)
    return gradient


def caught(number):
    """The place of x in the graph, and for each value its parents' places, with the slopes."""
    x = Value(number)
    values = all_of(trap(x))
    place = {id(v): i for i, v in enumerate(values)}
    return place.get(id(x)), [[[place[id(parent)], slope] for parent, slope in v.parents] for v in values]


@referee
def caught(graph):
    x, parents = graph
    if x is None:
        return "x is not in the graph"
    if len(parents) > 12:
        return "more than five boxes"
    if any(len(two) > 2 or not 0 <= p < v for v, two in enumerate(parents) for p, _ in two):
        return "no graph of values"
    y = len(parents) - 1
    right = pieces(parents, True, False, [*range(y, -1, -1)])
    walks = {
        "overwriting": pieces(parents, False, False, [*range(y, -1, -1)]),
        "too early": pieces(parents, True, False, [y]),
        "too often": pieces(parents, True, True, [y]),
    }
    return {name: not isclose(found[x], right[x], rel_tol=1e-9) for name, found in walks.items()}


def own_graph(number):
    x = Value(number)
    return picture_of_values([trap(x)], {"x": x})


def more_than_five_boxes():
    return len(all_of(trap(Value(1.5))))


@referee
def more_than_five_boxes(boxes):
    return boxes > 5


# Hint: The walks that are not caught yet have False. A walk is caught if its gradient of x differs from the right one.
# Own graph: own_graph(0.5)
caught(0.5)
# Hint: The trap should work for every x between 0.5 and 2: at this x one of the walks is right by chance.
# Own graph: own_graph(1.25)
caught(1.25)
caught(2.0)
# Hint: The picture may have five boxes at most: count x, each constant and each operation.
# Own graph: own_graph(1.5)
more_than_five_boxes()

# %% [markdown] hints="trap"
# 1. Which walk needs a value that is used twice? That value must not be x itself for `too_early`: a leaf passes nothing
# on, so it can never do so too early.
# 2. Make a value s from x, and use s twice: by a short way to the end, and by a longer one, through another operation.
# 3. `s = x * x`, and then s plus something that is computed from s.

# %% [markdown] shows="trap"
# A test is as good as the graph it runs on: all three walks are right where nothing is used twice, and your trap is
# where they are not.


# %% wrong="trap"
# Shows: x alone is used twice. That catches `=`, but a leaf passes nothing on, so nothing is passed on too early.
# Hint: Let a value between x and the end be the one that is used twice.
def trap(x):
    return x * x.exp()


# %% wrong="trap" misconception="M1"
# Shows: Every value is used once, and on such a graph all three walks are right.
# Hint: A gradient written with = does no harm where nothing is used twice, and for that reason such a test finds
# nothing. Use a value twice.
def trap(x):
    return (x.tanh() + 1).exp()


# %% wrong="trap" misconception="M9"
# Shows: Two of the walks are caught. `too_early` comes to the value that is used twice when both pieces have arrived,
# and is right by luck.
# Hint: A walk without an order is not only slower, it goes wrong, but not everywhere: a value must be met by a short
# arrow before what lies on the longer way. How long are the two ways from your s to the end, and which of the two
# stands on the left, where it is met first?
def trap(x):
    s = x.exp()
    return s * s


# %% wrong="trap"
# Shows: All three are caught, and the picture has more than five boxes.
# Hint: Look for boxes that the trap does not need. A constant is a box, and so is each operation.
def trap(x):
    s = x * x + 1
    return s + (s * 2).exp()


# %% wrong="trap"
# Shows: The trap gives back a plain number, which has no graph.
# Hint: `x.data` takes the number out, and what is computed from it is not recorded. Compute with x itself.
def trap(x):
    s = x.data**2
    return s + s


# %% wrong="trap"
# Shows: The trap ends in a plain number, or x is cut off: x is not in the graph, and nobody finds a gradient for it.
# Hint: Compute with the Value x, not with x.data.
def trap(x):
    s = mg.Value(x.data**2)
    return s + s.exp()


# %% [markdown]
# ## What you have now
#
# Outgoing is incoming times slope. Gradients that meet are added. A value passes its gradient on only when all of it
# has arrived. And you believe a number when an independent one agrees. To watch the walk of part 1, build L from
# `mg.Value`s and give it to `mg.widgets.ChainRule`: there you see where your pencil was right.
#
# **Next**: [03 Train a network](../lessons/03_train_a_network.ipynb).
