# ---
# jupyter:
#   minigrad:
#     title: The road taken
#     minutes: 30
#     lesson: 08_a_graph_for_each_input
#     concepts: [B8, B9, B10]
# ---

# %% [markdown]
# # 08 The road taken
#
# Say what a run leaves behind, keep a graph short, and design a function whose graph changes with its input. About 30
# minutes, in three parts; one more is optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
from minigrad.course import check, solution
from minigrad.core.node import toposort


def operations(y):
    return [type(node.op).__name__ for node in toposort(y.node) if node.inputs]


# %% [markdown]
# ## 1. What is left behind
#
# **2 points, 7 minutes.** Work this out before you run anything:
#
# ```python
# def f(x):
#     y = x * x
#     if y.item() > 10:
#         y = y / 2
#         y = y - 1
#     for _ in range(int(x.item())):
#         y = y + x
#     return y
# ```
#
# - `operations_at_2` and `operations_at_4`: how many operations are in the graph of `f(x)` at x = 2, and at x = 4?
# - `gradient_at_2` and `gradient_at_4`: what is the gradient of `f(x)` at x = 2, and at x = 4?

# %% answer="left_behind" points=2 minutes=7
### BEGIN SOLUTION
operations_at_2, gradient_at_2 = 3, 6
operations_at_4, gradient_at_4 = 7, 8
### END SOLUTION

# %%
check("left_behind")

# %% probes="left_behind"
# Hint: `operations_at_2`: write down the lines that Python runs at x = 2. A test or a count is no operation.
operations_at_2
# Hint: `gradient_at_2`: differentiate what ran at x = 2: x · x + x + x.
gradient_at_2
# Hint: `operations_at_4`: write down the lines that Python runs at x = 4: both lines of the `if`, and four rounds.
operations_at_4
# Hint: `gradient_at_4`: differentiate what ran at x = 4: x · x / 2 − 1 + x + x + x + x.
gradient_at_4

# %% [markdown] hints="left_behind"
# 1. Write down the lines that Python runs at x = 2, one after another: a product, and then the loop, twice. The test
# of the `if` and the counting of the `for` are no operations.
# 2. Along that road y is x·x + x + x. At x = 4 it is x·x / 2 − 1 + x + x + x + x. Count the symbols.
# 3. Derive what you have written, with as many x as there are: 2x + 2 at x = 2. The graph does not know that there
#    might be more rounds at another x.

# %% [markdown] shows="left_behind"
# A dynamic graph holds the operations that ran and none of the decisions: at another x it may be another graph, with
# another gradient.

# %% wrong="left_behind" misconception="M5"
# Shows: You counted the branch that was not taken at x = 2, as if both branches were recorded.
# Hint: Define-by-run records what ran, and nothing else. At x = 2, y is 4, so Python never came to the two lines in the
# `if`: they have no nodes.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 5, 6, 7, 8

# %% wrong="left_behind"
# Shows: The loop was differentiated as x times x, as if the number of rounds were part of the graph.
# Hint: `int(x.item())` is a plain number. The graph has that many additions of x, and each brings back 1: x·x + 2x has
# the gradient 2x + 2.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 8, 7, 12

# %% wrong="left_behind"
# Shows: The `if` was counted as an operation.
# Hint: Python asks `y.item() > 10` of a plain number. Only what makes a tensor from tensors is a node.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 4, 6, 8, 8

# %% wrong="left_behind"
# Shows: The loop was counted as one operation, however often it goes round.
# Hint: In a dynamic graph a loop is not a node. Each round that runs adds its own operations: two at x = 2, four at x =
# 4.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 2, 6, 4, 8

# %% wrong="left_behind"
# Shows: The gradients leave out the additions of the loop.
# Hint: At every round x goes into y once more, and each of these arrows brings back 1. Add them.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 4, 7, 4

# %% wrong="left_behind"
# Shows: The gradients are the values of f(x).
# Hint: The gradient says how many times as far y moves as x. Write y as a formula in x, along the road that ran.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 8, 7, 23

# %% wrong="left_behind"
# Shows: At x = 4 the division by 2 is left out of the gradient.
# Hint: What comes back through `y / 2` is halved before it reaches the product: x · x brings 4, not 8.
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 6, 7, 12

# %% [markdown]
# ## 2. A short road
#
# **3 points, 10 minutes.** Write `power(x, n)`. You get a tensor x and a whole number n ≥ 1, and return x to the power
# n. Use multiplications (`*`) alone. The gradient must come back to x.
#
# Your budget: **at most 2 · log₂(n) + 2 multiplications run**. For n = 64 that is 14, and not 63. Python sees n, so it
# can choose the road.
#
# Example: x⁸ takes three multiplications, because each can square the one before.


# %% answer="short_road" points=3 minutes=10
def power(x, n):
    ### BEGIN SOLUTION
    if n == 1:
        return x
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half
    ### END SOLUTION


# %%
check("short_road")

# %% probes="short_road"
from math import log2

from minigrad import tensor
from minigrad.core.modes import watching
from minigrad.draw.drawing import picture_of
from minigrad.saving import evidence


class Told:
    def __init__(self):
        self.ops = []

    def on_forward(self, op, y, xs):
        self.ops.append(type(op).__name__)


def longest_way(nodes):
    away = []
    for _, inputs, _ in nodes:
        away.append(1 + max((away[x] for x in inputs), default=0))
    return max(away)


def own_graph(value, n):
    x = tensor(value, requires_grad=True)
    return picture_of([power(x, n)], {"x": x})


def power_at(value, n):
    x = tensor(value, requires_grad=True)
    with watching(Told()) as told:
        y = power(x, n)
    (y * 1.0).backward()
    gradient = None if x.grad is None else round(x.grad.item(), 4)
    return round(y.item(), 4), gradient, told.ops, evidence.sent_nodes(y)


@referee
def power_at(sent, _, n):
    value, gradient, ops, nodes = sent
    return {
        "value": value,
        "gradient": gradient,
        "within the budget": len(ops) <= 2 * log2(n) + 2,
        "no way is long": not nodes or longest_way(nodes) <= 2 * log2(n) + 3,
        "other operations": sorted({*ops} - {"Mul"}),
    }


# Hint: n = 1: the result is x itself, and the gradient comes back to it.
# Own graph: own_graph(3.0, 1)
power_at(3.0, 1)
# Hint: n = 2: x · x.
# Own graph: own_graph(3.0, 2)
power_at(3.0, 2)
# Hint: n = 3 is odd: one more factor x, which is not squared.
# Own graph: own_graph(1.5, 3)
power_at(1.5, 3)
# Hint: n = 7 is odd at each halving: 7, 3, 1.
# Own graph: own_graph(-1.5, 7)
power_at(-1.5, 7)
# Hint: n = 13: odd and even halves in turn: 13, 6, 3, 1.
# Own graph: own_graph(1.1, 13)
power_at(1.1, 13)
# Hint: n = 64: six squarings are enough. Compute each half once.
# Own graph: own_graph(1.01, 64)
power_at(1.01, 64)
# Hint: n = 100: at most 15 multiplications.
# Own graph: own_graph(1.01, 100)
power_at(1.01, 100)
# Hint: n = 255 is odd at each halving: at most 17 multiplications, and only `*`.
# Own graph: own_graph(-1.0, 255)
power_at(-1.0, 255)

# %% [markdown] hints="short_road"
# 1. With `half = power(x, n // 2)` in hand, x to the power n is `half * half` if n is even.
# 2. For odd n, n // 2 is rounded down, so one x is missing in `half * half`.
# 3. `if n == 1: return x`; then `half = power(x, n // 2)`, once, and `half * half`, times x if n is odd.

# %% [markdown] shows="short_road"
# A graph is as long as the road that Python took: x⁶⁴ is 63 products on one road and 6 on another, and the walk back
# is as long.


# %% wrong="short_road"
# Shows: x is multiplied n − 1 times, one factor after another, so the graph is as long as n.
# Hint: x⁶⁴ is x³² times itself. Compute the half once, and use it twice.
def power(x, n):
    y = x
    for _ in range(n - 1):
        y = y * x
    return y


# %% wrong="short_road"
# Shows: The half is computed twice, once for each factor. Written twice is computed twice.
# Hint: Give the half a name, `half = power(x, n // 2)`, and write `half * half`. In eager mode nothing notices that the
# two calls are the same.
def power(x, n):
    if n == 1:
        return x
    y = power(x, n // 2) * power(x, n // 2)
    return y * x if n % 2 else y


# %% wrong="short_road"
# Shows: For odd n one factor is missing: n // 2 rounds down.
# Hint: 7 // 2 is 3, and 3 + 3 is 6. Where `n % 2` is 1, multiply by x once more.
def power(x, n):
    if n == 1:
        return x
    half = power(x, n // 2)
    return half * half


# %% wrong="short_road"
# Shows: The engine's own power was used. It is one operation, and not a multiplication.
# Hint: Use only `*`. The question is how few of them will do.
def power(x, n):
    return x**n


# %% wrong="short_road"
# Shows: The number was taken out of the tensor. The value is right, and no gradient comes back to x.
# Hint: `x.item()` cuts the thread. Use plain numbers for n alone, and leave x a tensor.
def power(x, n):
    return mg.tensor(x.item() ** n, requires_grad=True)


# %% wrong="short_road"
# Shows: The factor for an odd n is put in before the later squarings, which square it too.
# Hint: With n = 6, the loop meets 6, then 3, and multiplies by x at 3, when y is x² already. Go the other way: find the
# power for n // 2 first, and multiply by x after squaring it.
def power(x, n):
    y = x
    while n > 1:
        y = y * y * x if n % 2 else y * y
        n = n // 2
    return y


# %% wrong="short_road"
# Shows: y is squared until n has been halved down to 1: right for 2, 4, 8 and so on, and too much in between.
# Hint: `/` leaves 1.5 of 3, and goes round once more. Halve with `//`, and think of what is lost where n is odd.
def power(x, n):
    y = x
    while n > 1:
        y = y * y
        n = n / 2
    return y


# %% [markdown]
# ## 3. Design your own
#
# **3 points, 11 minutes.** Write a function `f(x)` of a tensor of one number, and a list `inputs` of three finite
# floats, with these properties:
#
# - the graphs at the three inputs have three different numbers of operations, each 12 at most;
# - some kind of operation is in one of the graphs and not in another;
# - the gradient is not 0 at any of the three, and it is right: `mg.gradcheck(f, x, raise_exception=False)` agrees.
#
# `operations(y)` above lists the kinds in a graph. Anything goes: a root by Newton's steps until it is good, a tax with
# brackets, a road of your own.


# %% answer="own_road" points=3 minutes=11
### BEGIN SOLUTION
def f(x):
    y = x
    while y.item() > 1:
        y = y / 2
    return y.tanh() if y.item() < 0 else y * y


inputs = [-0.5, 1.5, 3.5]
### END SOLUTION

# %%
check("own_road")

# %% probes="own_road"
from math import isfinite

from minigrad import tensor
from minigrad.saving import evidence


def graphs_of():
    ys = [f(tensor(float(number), requires_grad=True)) for number in inputs]
    return [[op for op, inputs, _ in evidence.sent_nodes(y) if inputs] for y in ys]


def nudging_agrees(number):
    return evidence.sent_slopes(f, float(number))


@referee
def nudging_agrees(rows):
    return evidence.slopes_agree(rows)


def slope_of(number):
    x = tensor(float(number), requires_grad=True)
    y = f(x)
    if not y.requires_grad:
        return 0.0
    (y * 1.0).backward()
    return 0.0 if x.grad is None else x.grad.item()


moves = slope_of


@referee
def moves(slope):
    return isfinite(slope) and slope != 0


# Hint: `inputs` should hold three floats.
len(inputs)
# Hint: The three graphs should have three different numbers of operations.
len({len(graph) for graph in graphs_of()})
# Hint: One of the graphs has more than 12 operations.
max(len(graph) for graph in graphs_of()) <= 12
# Hint: All three graphs have the same kinds of operations. Some kind should be in one graph and not in another.
len({frozenset(graph) for graph in graphs_of()}) > 1
# Hint: At one of the inputs, backward and a nudge differ. Does a nudge change the road there, or was a number taken out
# of the graph?
[nudging_agrees(number) for number in inputs]
# Hint: At one of the inputs the gradient is 0, or not finite.
[moves(number) for number in inputs]

# %% [markdown] hints="own_road"
# 1. A `while` that asks `y.item()` makes graphs of different lengths; an `if` lets another kind of operation in.
# 2. Start from a loop such as `while y.item() > 1: y = y / 2`, and choose inputs for which it goes round 0, 1 and 2
# times.
# 3. After the loop, `return y.tanh() if y.item() < 0 else y * y`. Choose inputs away from the borders: a nudge must
# not change the road.

# %% [markdown] shows="own_road"
# Each input gets the graph of its own run, and the gradient is right as long as a small nudge takes the same road.


# %% wrong="own_road" misconception="M5"
# Shows: All three graphs have the same operations: `where` computes both branches at every input, it does not leave
# one out.
# Hint: An `if` on `x.item()` records only the branch that ran; `mg.where` is one operation whose operands are both
# computed. Let Python decide.
def f(x):
    return mg.where(x > 0, x * 2, x.exp())


inputs = [-1.0, 1.0, 2.0]


# %% wrong="own_road"
# Shows: Three graphs of three lengths, and all of them have the same kinds of operations in them.
# Hint: Let an `if` choose between two operations, say tanh and exp, or let the loop go round 0 times at one of the
# inputs.
def f(x):
    y = x * x
    while y.item() > 1:
        y = y * 0.5
    return y


inputs = [0.5, 1.2, 1.8]


# %% wrong="own_road"
# Shows: One of the inputs stands on a border, where the road changes: the gradient of the road taken and the nudge
# disagree.
# Hint: gradcheck nudges x a little both ways. Move the input away from the number that your `if` or `while` compares
# with.
def f(x):
    if x.item() > 1:
        return (x * 2).exp()
    if x.item() > 0:
        return x * x
    return x.exp() * 3 * x


inputs = [-2.0, 1.0, 2.0]


# %% wrong="own_road"
# Shows: All three inputs stand on borders, where a nudge leads to another road: with `int(x.item())` every whole number
# is one. And all graphs have the same kinds of operations.
# Hint: Move the inputs away from the numbers at which your road changes, and let an `if` bring in another operation.
def f(x):
    y = x
    for _ in range(int(x.item())):
        y = y * x
    return y


inputs = [1.0, 2.0, 3.0]


# %% wrong="own_road"
# Shows: All three inputs stand on borders, where a nudge leads to another road: with `int(x.item())` every whole number
# is one.
# Hint: Move the inputs away from the numbers at which your road changes, from 1, 2 and 3 to 1.5, 2.5 and 3.5, say.
def f(x):
    y = x * x
    for _ in range(int(x.item())):
        y = y + x
    return y.exp() if x.item() > 2.5 else y


inputs = [1.0, 2.0, 3.0]


# %% wrong="own_road"
# Shows: Two of the inputs stand on borders, where the road changes: the gradient of the road taken and the nudge
# disagree there.
# Hint: gradcheck nudges x a little both ways. Neither way may cross a number that your `if` or `while` compares with.
def f(x):
    if x.item() <= 1:
        return x * x
    if x.item() <= 2:
        return x * x + 1
    return x.exp() + x * 2 + 1


inputs = [1.0, 2.0, 3.0]


# %% wrong="own_road"
# Shows: The kinds differ, and all three graphs have the same number of operations.
# Hint: An `if` with one operation on either side makes graphs of one length. Let a loop go round more or less often.
def f(x):
    if x.item() > 1:
        return x * x
    return x.exp()


inputs = [-1.0, 0.5, 2.0]


# %% wrong="own_road"
# Shows: The number was taken out of the tensor and computed with: no gradient comes back to x.
# Hint: Ask `x.item()` in the test of an `if` or a `while`, and compute with x itself.
def f(x):
    y = mg.tensor(x.item(), requires_grad=True)
    while y.item() > 1:
        y = y / 2
    return y.tanh() if y.item() < 0 else y * y


inputs = [-0.5, 1.5, 3.5]


# %% wrong="own_road"
# Shows: A loop goes round so often that a graph has more than 12 operations.
# Hint: A loop's graph is as long as its run. Choose inputs for which it stops sooner.
def f(x):
    y = x
    while y.item() > 1:
        y = y / 2
    return y.tanh() if y.item() < 0 else y * y


inputs = [-0.5, 1.5, 1e6]


# %% wrong="own_road"
# Shows: Two of the three graphs have the same number of operations.
# Hint: The three lengths should differ. Choose inputs for which the loop goes round 0, 1 and 2 times.
def f(x):
    y = x
    while y.item() > 1:
        y = y / 2
    return y.tanh() if y.item() < 0 else y * y


inputs = [-0.5, 0.5, 3.5]

# %% [markdown] folded=true
# ## More
#
# The part below is optional when you work alone: the exercise is done without it. It counts when your course grades
# it.

# %% [markdown]
# ### 4. A NaN to hunt
#
# **2 points, 8 minutes.** How surprising is a die, a coin, the weather? Shannon's answer is the sum of −p · ln p over
# the probabilities p of what can happen. What cannot happen, p = 0, adds nothing. Somebody wrote:
#
# ```python
# def surprise(p):
#     return mg.where(p > 0, -p * p.log(), 0 * p).sum()
# ```
#
# The values are right, and training with it ends in NaN. To find the line, run it as the optional section of the lesson
# does:
#
# ```python
# with mg.autograd.detect_anomaly(), np.errstate(all="ignore"):
#     surprise(mg.tensor([0.5, 0.5, 0.0], requires_grad=True)).backward()
# ```
#
# Write `surprise(p)` again:
#
# - the value is the same;
# - the gradient is the same where p is positive, and 0 where p is 0;
# - NumPy has nothing to warn about, so you need no `np.errstate`.


# %% answer="nan_hunt" points=2 minutes=8
def surprise(p):
    ### BEGIN SOLUTION
    possible = p > 0
    safe = mg.where(possible, p, 1.0)
    return mg.where(possible, -safe * safe.log(), 0 * p).sum()
    ### END SOLUTION


# %%
check("nan_hunt")

# %% probes="nan_hunt"
import numpy as np

from minigrad import tensor


def surprise_at(*probabilities):
    p = tensor(probabilities, requires_grad=True)
    with np.errstate(all="ignore"):
        y = surprise(p) + 0 * p.sum()  # where nothing is possible, a sum in Python is a plain 0
        y.backward()
    return {"value": round(y.item(), 6), "gradient": None if p.grad is None else [round(g, 6) for g in p.grad.tolist()]}


def quiet(*probabilities):
    p = tensor(probabilities, requires_grad=True)
    with np.errstate(all="raise"):
        surprise(p).backward()
    return "nothing to warn of"


# Hint: Where every p is positive, the value is ln 2 here, and the gradient −ln p − 1.
surprise_at(0.5, 0.5)
# Hint: Where p is 0, the gradient should be 0, not NaN and not large: the logarithm must not see the 0.
surprise_at(1.0, 0.0)
# Hint: Some p are 0: the others should keep their value and gradient.
surprise_at(0.25, 0.0, 0.75, 0.0)
# Hint: A small p is still possible: change nothing there.
surprise_at(0.001, 0.999)
# Hint: A single p = 1: value 0, gradient −1.
surprise_at(1.0)
# Hint: If nothing is possible, the value is 0 and all gradients are 0.
surprise_at(0.0, 0.0)
# Hint: NumPy warned: somewhere a logarithm of 0, or a division by 0, is still computed.
quiet(0.5, 0.0, 0.5)

# %% [markdown] hints="nan_hunt"
# 1. The operation that is named is the product −p · ln p: `where` sends it a 0, and it passes on 0 times ln 0, which is
# infinite. 0 · ∞ is NaN; and the slope of the logarithm at 0, 1 / 0, makes another.
# 2. `where` around the logarithm comes too late: both sides have been computed. Choose before: let the logarithm see
# another number where p is 0.
# 3. `safe = mg.where(p > 0, p, 1.0)`, and then `mg.where(p > 0, -safe * safe.log(), 0 * p).sum()`.

# %% [markdown] shows="nan_hunt"
# `where` computes both sides, and 0 times infinity is NaN: a bad number has to be kept out before the operation and
# cannot be chosen away after it.


# %% wrong="nan_hunt"
# Shows: Nothing has changed: the logarithm still sees the 0, and 0 times its infinite value is NaN.
# Hint: The value is masked, the gradient is not: 0 times infinity. The number must be replaced before it reaches the
# logarithm.
def surprise(p):
    return mg.where(p > 0, -p * p.log(), 0 * p).sum()


# %% wrong="nan_hunt"
# Shows: The logarithm sees a small number in place of 0. The NaN is gone, and the gradient at 0 is large, not 0.
# Hint: What cannot happen must be left out, not made nearly possible. Choose with `where`, once before the logarithm
# and once after it.
def surprise(p):
    return (-p * (p + 1e-12).log()).sum()


# %% wrong="nan_hunt"
# Shows: As soon as one probability is 0, all of them are left out.
# Hint: Decide for each element: `mg.where` picks by element, an `if` on the whole array does not.
def surprise(p):
    if (p.numpy() > 0).all():
        return (-p * p.log()).sum()
    return (0 * p).sum()


# %% wrong="nan_hunt"
# Shows: `if` asks for one answer, and p is several numbers.
# Hint: Decide for each element by itself: that is what `mg.where` does.
def surprise(p):
    if p > 0:
        return (-p * p.log()).sum()
    return (0 * p).sum()


# %% wrong="nan_hunt"
# Shows: The logarithm sees a safe number, and one without a past: a part of the gradient is lost.
# Hint: Leave out `detach`: both factors of p · ln p have to send something back to p.
def surprise(p):
    safe = mg.where(p > 0, p, 1.0).detach()
    return (-p * safe.log()).sum()


# %% wrong="nan_hunt"
# Shows: The safe number is right, but the last `where` is missing: the safe number has to be taken out again. Where p
# is 0 there is still a product with p.
# Hint: −p · ln(safe) has the gradient −ln(safe) at p, plus what comes through safe. Use safe in both factors, and the
# second where around it.
def surprise(p):
    safe = mg.where(p > 0, p, 0.5)
    return (-p * safe.log()).sum()


# %% [markdown]
# ## What you have now
#
# A graph is as long as the run that made it, so the Python code decides its price. What did not run is not there, what
# was only tested in an `if` has no gradient.
#
# **Next**: [09 Define, then run](../lessons/09_define_then_run.ipynb).
