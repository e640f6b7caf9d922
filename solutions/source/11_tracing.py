# ---
# jupyter:
#   minigrad:
#     title: When does Python run?
#     minutes: 40
#     lesson: 11_tracing
#     concepts: [C6, C7, C8]
# ---

# %% [markdown]
# # 11 When does Python run?
#
# You count traces, write a decision for AutoGraph, make effects happen at every call, keep a training step to one
# trace, and design a function for which one trace must do. About 40 minutes, 10 points, in five parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import math

import minigrad as mg
import minigrad.graph.autograph  # loads what traces and runs graphs, so that no check has to wait for it
from minigrad.course import check, solution

# %% [markdown]
# ## 1. How many traces?
#
# **2 points, 6 minutes.** Read these calls. Do not run them yet. What is `f.trace_count` after each line? Give four
# numbers; the comment at the end of a line is the name of its number. The count goes on from line to line.
#
# ```python
# @mg.function
# def f(x, k):
#     return x * k
#
# f(mg.ones(3), 2); f(mg.zeros(3), 2); f(mg.ones(3) * 7, 2)             # after_values
# f(mg.ones(5), 2); f(mg.ones(3), 2); f(mg.ones(5), 2)                  # after_shapes
# f(mg.ones(3), 3); f(mg.ones(3), 4); f(mg.ones(3), 3)                  # after_numbers
# f(mg.ones(3), mg.tensor(5)); f(mg.ones(3), mg.tensor(6))              # after_tensors
# ```

# %% answer="traces" points=2 minutes=6
### BEGIN SOLUTION
after_values = 1
after_shapes = 2
after_numbers = 4
after_tensors = 5
### END SOLUTION

# %%
check("traces")

# %% probes="traces"
# Hint: `after_values`: the numbers in a tensor are no reason for a trace.
after_values
# Hint: `after_shapes`: a new shape is one trace more. A shape that was met before has its graph already.
after_shapes
# Hint: `after_numbers`: each new Python number is one trace more. A number that was met before has its graph already.
after_numbers
# Hint: `after_tensors`: a tensor in place of a number is another signature, and its value does not count.
after_tensors

# %% [markdown] hints="traces"
# 1. A tensor counts by its dtype and shape, and not by its numbers. A Python number counts by its value.
# 2. A signature that was met before has its graph: then there is no trace, however long ago it was.
# 3. One for f64[3] with 2; one more for f64[5]; then one for 3 and one for 4; and one for k as a tensor.

# %% [markdown] shows="traces"
# A tensor is an input, and its graph serves all numbers of that shape; a Python number is a constant, and each new
# one is a new trace.

# %% wrong="traces" misconception="M7"
# Shows: This fits the belief that another Python number is no reason for a trace.
# Hint: A Python number as argument is not an input of the graph: it is written into the graph as a constant. So each
# new value makes the function trace again.
after_values, after_shapes, after_numbers, after_tensors = 1, 2, 2, 3

# %% wrong="traces"
# Shows: Every call was counted, even where there was a graph already.
# Hint: Count signatures, not calls: a call whose signature was met before runs the graph that is there.
after_values, after_shapes, after_numbers, after_tensors = 3, 6, 9, 11

# %% wrong="traces"
# Shows: Going back to a signature from before was counted as a new trace.
# Hint: A graph is kept when another one is made. The second f64[5], and the second 3, find theirs.
after_values, after_shapes, after_numbers, after_tensors = 1, 4, 7, 8

# %% wrong="traces"
# Shows: The second 3 in the third line was counted as a new trace.
# Hint: 3 was met before, in the first call of that line, and its graph is still there.
after_values, after_shapes, after_numbers, after_tensors = 1, 2, 5, 6

# %% wrong="traces"
# Shows: Each number in a tensor was taken for a signature of its own.
# Hint: A tensor is an input of the graph: only its dtype and its shape are in the signature. 5 and 6 are both i64[].
after_values, after_shapes, after_numbers, after_tensors = 1, 2, 4, 6

# %% wrong="traces"
# Shows: This fits the belief that the graph for a number can also take a tensor in its place.
# Hint: In the graph for k = 4 there is no place to put a tensor: 4 is a constant there. One more trace is needed.
after_values, after_shapes, after_numbers, after_tensors = 1, 2, 4, 4

# %% wrong="traces"
# Shows: Each line was counted from 0, with the graphs of the lines before it already there.
# Hint: You have the right number of traces for each line. trace_count goes on from line to line: add them up.
after_values, after_shapes, after_numbers, after_tensors = 1, 1, 2, 1

# %% wrong="traces"
# Shows: This fits the belief that another shape is no reason for a trace.
# Hint: Without an input_signature that leaves a length open, a graph is made for one shape.
after_values, after_shapes, after_numbers, after_tensors = 1, 1, 3, 4

# %% [markdown]
# ## 2. A decision for AutoGraph
#
# **2 points, 7 minutes.** The Huber function is x²/2 where |x| ≤ 1, and |x| − ½ elsewhere. This version is refused at
# its first call, when it is traced. Try `huber(mg.tensor(3.0))`, and read the error:
#
# ```python
# @mg.function
# def huber(x):
#     part = "inside"
#     if abs(x) > 1:
#         part = "outside"
#     if part == "inside":
#         return x * x / 2
#     return abs(x) - 0.5
# ```
#
# Write `huber(x)` so that AutoGraph can trace it. It gets a tensor of one number, and returns another. For example,
# `huber(mg.tensor(3.0))` is 2.5.
#
# - Decorate it with `@mg.function`.
# - One trace serves all numbers.
# - Its gradient is right: x where |x| ≤ 1, and 1 or −1 elsewhere.


# %% answer="huber" points=2 minutes=7
### BEGIN SOLUTION
@mg.function
def huber(x):
    if abs(x) <= 1:
        y = x * x / 2
    else:
        y = abs(x) - 0.5
    return y


### END SOLUTION

# %%
check("huber")

# %% probes="huber"
import minigrad as engine


def values(*numbers):
    return [huber(engine.tensor(each)).item() for each in numbers]


def slopes(*numbers):
    leaves = [engine.tensor(each, requires_grad=True) for each in numbers]
    for leaf in leaves:
        huber(leaf).backward()
    return [leaf.grad.item() for leaf in leaves]


def traces_more(*numbers):
    """How many traces these calls make, after a first one."""
    huber(engine.tensor(0.25))
    before = huber.trace_count
    for each in numbers:
        huber(engine.tensor(each))
    return huber.trace_count - before


# Hint: For |x| up to 1 the value is x² / 2.
values(0.0, 0.5, 1.0)
# Hint: Beyond 1 the value is |x| − ½, for negative x as well.
values(3.0, -2.0, -0.5)
# Hint: Near the borders, on both sides.
values(0.95, -0.95, 1.01, 1.05)
# Hint: The slope is x inside, and 1 or −1 beyond.
slopes(0.5, -0.5, 3.0, -2.0, 1.02)
# Hint: One trace should do for all numbers: the graph must decide, not Python.
traces_more(5.0, -5.0, 0.1)

# %% [markdown] hints="huber"
# 1. The graph decides in the run, and carries tensors. A text cannot become "inside" or "outside" when the run decides.
# 2. There are two ways, if you take abs(x): give a tensor y its value in the `if` and in the `else`, and do nothing
#    else there.
# 3. `if abs(x) <= 1: y = x * x / 2`, `else: y = abs(x) - 0.5`, and return y after both.

# %% [markdown] shows="huber"
# An `if`, a `cond` or a `where` on a tensor keeps both ways in the graph, so one trace serves all numbers, and the
# gradient is that of the way taken.


# %% wrong="huber"
# Shows: AutoGraph refuses it. After a decision some name is one of two texts, as in the function above, or has a value
# only if one of the ways was taken.
# Hint: Read the error: it names the line and the variable. A graph carries tensors, and needs both ways: one `if` with
# an `else`, and a value for a tensor y in each.
@mg.function
def huber(x):
    part = "inside"
    if abs(x) > 1:
        part = "outside"
    if part == "inside":
        return x * x / 2
    return abs(x) - 0.5


# %% wrong="huber"
# Shows: It is an ordinary function: it has the right values, and no trace.
# Hint: Put @mg.function above def.
def huber(x):
    return x * x / 2 if abs(x) <= 1 else abs(x) - 0.5


# %% wrong="huber"
# Shows: The decision was left to Python, which asked the tensor for its number: there is none while tracing.
# Hint: Let the `if` look at the tensor itself: AutoGraph makes a node of it.
@mg.function
def huber(x):
    if abs(x.item()) <= 1:
        return x * x / 2
    return abs(x) - 0.5


# %% wrong="huber"
# Shows: The branches beyond 1 are swapped, or one is missing: negative numbers get the value for positive ones.
# Hint: Beyond 1 it is abs(x) − ½, for negative x as well.
@mg.function
def huber(x):
    if abs(x) <= 1:
        y = x * x / 2
    else:
        y = x - 0.5
    return y


# %% wrong="huber"
# Shows: Numbers inside get the value for those beyond 1, and the other way round.
# Hint: Did you swap the two ways? x²/2 is for |x| ≤ 1.
@mg.function
def huber(x):
    if abs(x) > 1:
        y = x * x / 2
    else:
        y = abs(x) - 0.5
    return y


# %% wrong="huber"
# Shows: The square has no ½: the value and the slope inside are twice what they should be, and the parts do not meet.
# Hint: At |x| = 1 both ways must give ½.
@mg.function
def huber(x):
    if abs(x) <= 1:
        y = x * x
    else:
        y = abs(x) - 0.5
    return y


# %% [markdown]
# ## 3. Effects to repair
#
# **2 points, 8 minutes.** Somebody wants a record of the calls of a traced function. After three calls, the record is
# wrong:
#
# ```python
# calls, largest = 0, []
#
# @mg.function
# def watched(x):
#     global calls
#     calls += 1                             # stays at 1
#     largest.append(x.max())                # one entry, and it is a symbol
#     noise = random.random()                # the same at every call
#     return x * 2 + noise
# ```
#
# Write `watched(x)` again, traced. It gets a tensor x, and returns x * 2 + noise.
#
# - `calls` is a tensor: how often `watched` was called. Begin your cell with `calls = mg.tensor(0)`.
# - `largest` is a tensor: the largest number that was in any x so far. Begin it with `largest = mg.tensor(-math.inf)`.
#   `mg.maximum(a, b)` gives the larger of two tensors, and `a.copy_(b)` writes b into a.
# - The noise is one number between 0 and 1 for the whole of x. It is different at each call.


# %% answer="effects" points=2 minutes=8
### BEGIN SOLUTION
calls = mg.tensor(0)
largest = mg.tensor(-math.inf)


@mg.function
def watched(x):
    calls.add_(1)
    largest.copy_(mg.maximum(largest, x.max()))
    return x * 2 + mg.rand(())


### END SOLUTION

# %%
check("effects")

# %% probes="effects"
import math as mathematics

import minigrad as engine


def now(name):
    """What a name stands for now, where the function finds it, which may have given it to something else."""
    found = getattr(getattr(watched, "python_function", watched), "__globals__", globals())[name]
    found.item()  # a symbol that was left in its place refuses
    return found


def fresh():
    now("calls").fill_(0)
    now("largest").fill_(-mathematics.inf)


def record(*rows):
    """The calls that were counted, and the largest number, after calls with these."""
    fresh()
    for row in rows:
        watched(engine.tensor(row))
    return {"calls": now("calls").item(), "largest": now("largest").item()}


def noises(*rows):
    return [watched(engine.tensor(row)).tolist() for row in rows]


@referee
def noises(results, *rows):
    """What was added to each number of each row: different rows, one number in a row, all from 0 to 1."""
    found = [[b - 2 * a for a, b in zip(row, y)] for row, y in zip(rows, results)]
    flat = [each for row in found for each in row]
    same = all(max(row) - min(row) < 1e-9 for row in found)
    return {
        "different at each call": len({round(row[0], 9) for row in found}) == len(found),
        "one number for a row": same,
        "from 0 to 1": min(flat) >= 0 and max(flat) <= 1,
    }


def traces_of_three():
    """How many traces three calls with one shape make, after a first one."""
    watched(engine.tensor([1.0, 2.0]))
    before = watched.trace_count
    for each in (3.0, 4.0, 5.0):
        watched(engine.tensor([each, 0.0]))
    return watched.trace_count - before


# Hint: Three calls: `calls` should count each of them, and `largest` should hold the largest number so far. What
# happens at every call must be an op on the tensor.
record([1.0, 5.0], [2.0, 3.0], [4.0, -1.0])
# Hint: All numbers may be negative: `largest` starts at minus infinity.
record([-3.0, -2.0])
# Hint: `largest` is the largest number of all calls so far, not of the last one.
record([1.0, 1.0], [1.0, 1.0], [9.0, 9.0], [7.0, 9.5])
# Hint: The noise: a new number at each call, one for the whole of x, from 0 to 1. Python's random numbers are drawn
# only while tracing.
noises([1.0, 2.0], [1.0, 2.0], [5.0, 6.0])
# Hint: Three calls with one shape should need no new trace.
traces_of_three()

# %% [markdown] hints="effects"
# 1. What has to happen at every call must be an op: an edit in place is one, and so are minigrad's random numbers.
# 2. `calls.add_(1)` edits the tensor. For the largest, take the larger of `largest` and x.max(), and copy it into
#    `largest`.
# 3. `largest.copy_(mg.maximum(largest, x.max()))`, and for the noise `mg.rand(())`.

# %% [markdown] shows="effects"
# What Python does happens while the function is traced, and what an operation does happens at every call: an effect
# that must repeat has to be an operation.


# %% wrong="effects" misconception="M6"
# Shows: Counting and the noise are Python's: they happen while tracing, and not at every call.
# Hint: Whatever Python does in a traced function, whether it prints or counts, it does once, when the function is
# traced, and not at every call. Use ops: calls.add_(1), and mg.rand(()).
import random

calls, largest = mg.tensor(0), mg.tensor(-math.inf)
so_far = []


@mg.function
def watched(x):
    so_far.append("a call")
    calls.fill_(len(so_far))
    largest.copy_(mg.maximum(largest, x.max()))
    return x * 2 + random.random()


# %% wrong="effects" misconception="M6"
# Shows: calls and largest are a number and a list of Python's: they change while the function is traced, and not later.
# Hint: Python runs once, so its numbers and lists are not changed at every call, and nothing of Python's is printed at
# every call. Let both be tensors, and edit them by ops: `calls = mg.tensor(0)`, and in the function `calls.add_(1)`.
import random

calls, largest = 0, []


@mg.function
def watched(x):
    global calls  # noqa: PLW0603
    calls += 1
    largest.append(x.max())
    return x * 2 + random.random()


# %% wrong="effects" misconception="M6"
# Shows: Python made new tensors and gave the names to them: that happens while tracing, and not at every call.
# Hint: `calls = calls + 1` gives the name calls to another tensor, once. The tensor itself must be edited, by an op,
# which runs at every call: `calls.add_(1)`.
calls, largest = mg.tensor(0), mg.tensor(-math.inf)


@mg.function
def watched(x):
    global calls, largest  # noqa: PLW0603
    calls = calls + 1
    largest = mg.maximum(largest, x.max())
    return x * 2 + mg.rand(())


# %% wrong="effects"
# Shows: Inside the function something is assigned to calls, or to largest. So Python takes that name for the function's
# own, and it has no value yet.
# Hint: Edit the tensor and assign nothing: `calls.add_(1)`, and for the largest `copy_`.
calls, largest = mg.tensor(0), mg.tensor(-math.inf)


@mg.function
def watched(x):
    calls += 1  # noqa: F823, F841
    largest.copy_(mg.maximum(largest, x.max()))
    return x * 2 + mg.rand(())


# %% wrong="effects"
# Shows: Counting and the largest number are right, and the noise is the same at every call: it is a constant of the
# graph.
# Hint: What Python draws while tracing, or a tensor made beforehand, stays what it is. mg.rand(()) is an op, and draws
# at each call.
import random

calls, largest = mg.tensor(0), mg.tensor(-math.inf)


@mg.function
def watched(x):
    calls.add_(1)
    largest.copy_(mg.maximum(largest, x.max()))
    return x * 2 + random.random()


# %% wrong="effects"
# Shows: Each number of x got a noise of its own, but all of x should get the same noise.
# Hint: mg.rand(()) is one number; mg.rand(x.shape) is as many as x has.
calls, largest = mg.tensor(0), mg.tensor(-math.inf)


@mg.function
def watched(x):
    calls.add_(1)
    largest.copy_(mg.maximum(largest, x.max()))
    return x * 2 + mg.rand(x.shape)


# %% wrong="effects"
# Shows: `largest` holds the largest number of the latest call, and not of all so far.
# Hint: Compare with what is there: mg.maximum(largest, x.max()).
calls, largest = mg.tensor(0), mg.tensor(-math.inf)


@mg.function
def watched(x):
    calls.add_(1)
    largest.copy_(x.max())
    return x * 2 + mg.rand(())


# %% wrong="effects"
# Shows: All effects happen at every call, and so does Python: the function is not traced.
# Hint: It must be a traced function: put @mg.function above def, and use ops for all that has to happen.
calls, largest = mg.tensor(0), mg.tensor(-math.inf)


def watched(x):
    calls.add_(1)
    largest.copy_(mg.maximum(largest, x.max()))
    return x * 2 + mg.rand(())


# %% [markdown]
# ## 4. One trace for a whole training
#
# **2 points, 9 minutes.** Gradient descent fits a line, y = w · x, to points. Write one traced step of it,
# `step(w, x, y, rate)`. It returns the new w, which is w − rate · g. Here g is the gradient of the mean of
# (w · x − y)² with respect to w: 2 · mean((w · x − y) · x).
#
# - `w` is a tensor of one number: its shape is `()`.
# - `x` and `y` are tensors with one axis, both of the same length. The next call may bring another length.
# - `rate` is a Python number in some calls, and a tensor of one number in others. It falls from call to call.
# - All tensors are float64.
#
# For example, with w = 1, x = [1, 2], y = [2, 4] and a rate of 0.1, g is −5 and the new w is 1.5.
#
# Written without care, `step` is traced at nearly every call. The budget is *one* trace for all calls together.


# %% answer="one_trace" points=2 minutes=9
### BEGIN SOLUTION
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,)), mg.TensorSpec(())])
def step(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).mean()


### END SOLUTION

# %%
check("one_trace")

# %% probes="one_trace"
import minigrad as engine


def trained(*lengths):
    """w after a step for each length, with a falling rate."""
    w = engine.tensor(0.0)
    for i, n in enumerate(lengths):
        x = engine.arange(n, dtype="float64") + 1
        w, _ = (step(w, x, x * 3, 0.1 / (i + 1) / n) for _ in range(2))  # the second needs no trace: no warning
    return w.item()


def traces_for(n, rate):
    """How many traces a call with a batch of n and this rate makes."""
    before = step.trace_count
    for _ in range(2):
        step(engine.tensor(1.0), engine.ones(n), engine.ones(n), rate)
    return step.trace_count - before


def budget():
    """The traces for another length; for another rate; for a rate that is a tensor. Always such as were not met yet."""
    traces_for(5, 0.125), traces_for(5, engine.tensor(0.5))
    new = step.trace_count
    return traces_for(50 + 3 * new, engine.tensor(0.5)), traces_for(5, 0.001 / new), traces_for(5, engine.tensor(0.25))


def by_tensor():
    x = engine.ones(5)
    return step(engine.tensor(1.0), x, x * 2, engine.tensor(0.5)).item()


# Hint: w after four steps: w − rate · 2 · mean((w · x − y) · x), for batches of any length.
trained(4, 4, 2, 1)
# Hint: The rate may come as a tensor.
by_tensor()
# Hint: The new traces for another length, for another rate, and for another rate that is a tensor: all should be 0. A
# signature with open lengths, and a spec for the rate, does it.
budget()

# %% [markdown] hints="one_trace"
# 1. Two things make it trace again: another length of x and y, and another Python number for the rate.
# 2. An `input_signature` gives a spec for each argument. Where it asks for a tensor, a Python number is turned into
#    one.
# 3. `@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,)),
#   mg.TensorSpec(())])`.

# %% [markdown] shows="one_trace"
# A signature that says which lengths and numbers may change lets one graph serve a whole training.


# %% wrong="one_trace" misconception="M7"
# Shows: There is a trace for each rate and each length: a Python number as argument was taken for an input of the
# graph.
# Hint: A Python number is never an input: each new value makes the function trace again. A spec for it in
# input_signature turns it into a tensor; and None there leaves a length open.
@mg.function
def step(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).mean()


# %% wrong="one_trace"
# Shows: It is an ordinary function, without a trace.
# Hint: Put @mg.function above def, with an input_signature.
def step(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).mean()


# %% wrong="one_trace"
# Shows: The rate is a tensor now, and each length of a batch still has its own trace.
# Hint: Write None for the length that is not known, in an input_signature.
@mg.function
def inner(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).mean()


class Step:
    trace_count = property(lambda self: inner.trace_count)

    def __call__(self, w, x, y, rate):
        return inner(w, x, y, rate if isinstance(rate, mg.Tensor) else mg.tensor(rate))


step = Step()


# %% wrong="one_trace"
# Shows: Lengths may change, but the rate has no spec of its own: a signature needs one for each argument.
# Hint: There are four arguments. What is the spec of a single number?
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,))])
def step(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).mean()


# %% wrong="one_trace"
# Shows: The signature gives a shape that does not fit what comes: a length of 4, say, for a batch of 2, or an axis for
# w, which is a single number.
# Hint: The error names the argument. A length that is not known is None, and the shape of a single number is ().
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((4,)), mg.TensorSpec((4,)), mg.TensorSpec(())])
def step(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).mean()


# %% wrong="one_trace"
# Shows: There is one trace, but the step goes up: the gradient was added.
# Hint: Go against the gradient: w − rate · g.
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,)), mg.TensorSpec(())])
def step(w, x, y, rate):
    return w + rate * 2 * ((w * x - y) * x).mean()


# %% wrong="one_trace"
# Shows: There is one trace, but half the gradient: the square has the derivative 2 · (w · x − y) · x.
# Hint: The 2 of the formula is missing.
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,)), mg.TensorSpec(())])
def step(w, x, y, rate):
    return w - rate * ((w * x - y) * x).mean()


# %% wrong="one_trace"
# Shows: There is one trace, but the gradient is that of the sum: it has to be the mean over the batch.
# Hint: With .mean() instead of .sum() a step does not grow with the batch.
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,)), mg.TensorSpec(())])
def step(w, x, y, rate):
    return w - rate * 2 * ((w * x - y) * x).sum()


# %% [markdown]
# ## 5. A loop of your own
#
# **2 points, 10 minutes.** Design a traced function `mine(x)`, in Python's own words. It gets a tensor of one float,
# and computes with a loop: the sum of a series until its terms are small, say, or a debt with interest until it is paid
# off. It returns a number that has a gradient (a count has none). For starts x from 1 to 50,
#
# - all calls together make *one* trace, however many turns the loop takes;
# - the graph has a `while` node *and* an `if` node, both decided by tensors (the `if` stands inside the loop or
#   outside);
# - values and gradients agree with `mine.python_function(x)`, which runs your function eagerly, to six digits;
# - the result is not the same for all starts.


# %% answer="own_function" points=2 minutes=10
### BEGIN SOLUTION
@mg.function
def mine(x):
    while x > 1:
        if x > 10:
            x = x / 2
        else:
            x = x * 0.9 - 0.1 * x.sqrt()
    return x


### END SOLUTION

# %%
check("own_function")

# %% probes="own_function"
import minigrad as engine

STARTS = [1.07, 2.3, 5.9, 11.3, 23.7, 49.1]


def one_trace():
    for start in STARTS:
        mine(engine.tensor(start))
    before = mine.trace_count
    for start in STARTS:
        mine(engine.tensor(start + 0.01))
    return before, mine.trace_count


@referee
def one_trace(counts):
    before, after = counts
    return after == before >= 1


def ops_in(nodes):
    for node in nodes:
        yield node.op
        for part in getattr(node.op, "graphs", ()):
            yield from ops_in(part.nodes)


def holds():
    return [type(op).__name__ for op in ops_in(mine.graph_for(engine.tensor(2.3)).nodes)]


@referee
def holds(ops):
    return {"a loop in the graph": "While" in ops, "a branch in the graph": "Cond" in ops}


def both_ways(start):
    found = []
    for way in (mine, mine.python_function):
        leaf = engine.tensor(start, requires_grad=True)
        y = way(leaf)
        y.backward()
        found.append((y.item(), 0.0 if leaf.grad is None else leaf.grad.item()))
    return found


def alike():
    return [both_ways(start) for start in STARTS]


@referee
def alike(pairs):
    close = [abs(a - b) <= 1e-6 * max(1, abs(b)) for traced, run in pairs for a, b in zip(traced, run)]
    return len(close) == 2 * len(STARTS) and all(close)


def not_constant():
    return [mine(engine.tensor(start)).item() for start in STARTS]


@referee
def not_constant(results):
    return len({round(each, 6) for each in results}) > 1


# Hint: All starts together should make one trace: the loop and the branch must be decided by tensors, not by Python.
one_trace()
# Hint: The graph should hold a loop and a branch, both decided by x: a `while` and an `if` on a tensor.
holds()
# Hint: The traced function and the Python function differ, in values or in gradients. Does the result have a gradient
# at all?
alike()
# Hint: The result is the same for all starts.
not_constant()

# %% [markdown] hints="own_function"
# 1. Begin with `while x > 1:` and something in the loop that makes x smaller: that is a loop decided by a tensor.
# 2. Put an `if` on x into the loop, which does one thing or another to x; give x a value in both branches.
# 3. `while x > 1:`, in it `if x > 10: x = x / 2`, `else: x = x * 0.9`; after it, `return x`.

# %% [markdown] shows="own_function"
# AutoGraph has written your `while` and your `if` into one graph, which takes as many turns as each start needs.


# %% wrong="own_function"
# Shows: The loop is unrolled, so there is none in the graph: how many turns it takes is known while tracing, as with a
# range of a Python number or a tensor of known length.
# Hint: Let a tensor decide how long it goes on: `while x > 1:`.
@mg.function
def mine(x):
    for _ in range(5):
        if x > 1:
            x = x * 0.5
        else:
            x = x * 0.9
    return x


# %% wrong="own_function"
# Shows: There is a loop, but no decision in the graph.
# Hint: Put an `if` on the tensor into the loop, or behind it.
@mg.function
def mine(x):
    while x > 1:
        x = x * 0.7
    return x


# %% wrong="own_function"
# Shows: The loop is decided by a number taken out of the tensor: while tracing there is none.
# Hint: Compare the tensor itself: AutoGraph makes nodes of the `while` and the `if`.
@mg.function
def mine(x):
    while x.item() > 1:
        if x > 10:
            x = x / 2
        else:
            x = x * 0.9
    return x


# %% wrong="own_function"
# Shows: A count that is kept in a Python list grows in the loop: AutoGraph refuses it.
# Hint: Python's list is filled while tracing, not in the run. Carry a number: `count = count + 1`.
@mg.function
def mine(x):
    terms = []
    while x > 1:
        if x > 10:
            x = x / 2
        else:
            x = x * 0.9
        terms.append(x)
    return sum(terms)


# %% wrong="own_function"
# Shows: No gradient leads from the result back to x. It is a count of turns, say, which jumps from one whole number to
# the next, or x was cut off with detach.
# Hint: Return what was carried along, x itself or a sum, and not how often the loop went round.
@mg.function
def mine(x):
    turns = 0
    while x > 1:
        if x > 10:
            x = x / 2
        else:
            x = x * 0.9
        turns = turns + 1
    return turns


# %% wrong="own_function"
# Shows: The result is a count of turns, the same for all starts, and no gradient leads back to x.
# Hint: Return what was carried along, x itself or a sum; and let what is done depend on how large x is.
@mg.function
def mine(x):
    goal, turns = 2 * x, 0
    while x < goal:
        if x > 10:
            x = x * 1.05
        else:
            x = x * 1.05
        turns = turns + 1
    return turns


# %% wrong="own_function"
# Shows: All starts come to the same result: it is a constant, and has no gradient.
# Hint: Let the result depend on x in a smooth way. A last step that sets x to a number loses where it came from.
@mg.function
def mine(x):
    while x > 1:
        if x > 10:
            x = x / 2
        else:
            x = x * 0 + 1
    return x * 0 + 1


# %% wrong="own_function"
# Shows: It is an ordinary Python function, without traces.
# Hint: Put @mg.function above def.
def mine(x):
    while x > 1:
        if x > 10:
            x = x / 2
        else:
            x = x * 0.9
    return x


# %% [markdown]
# ## What you have now
#
# Python runs once for each signature, and writes down what the graph does. Numbers become constants, and tensors become
# inputs. Whatever must happen at every call is an op. An `if` or a `while` on a tensor becomes a node, which AutoGraph
# wrote for you.
#
# **Next**: [12 Three ways](../lessons/12_three_ways.ipynb).
