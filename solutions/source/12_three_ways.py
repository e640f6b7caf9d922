# ---
# jupyter:
#   minigrad:
#     title: One model, three ways
#     minutes: 20
#     lesson: 12_three_ways
#     concepts: [C9, C10]
# ---

# %% [markdown]
# # 12 One model, three ways
#
# You count what three programs do, move one of them into a session, and hunt a NaN. Two optional parts keep a budget of
# calls, and bring a model of your own. About 20 minutes without these two. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
import minigrad.graph  # loads what builds and runs graphs, so that no check has to wait for it
from minigrad.course import check, solution

# %% [markdown]
# ## 1. What each of them does
#
# **2 points, 5 minutes.** Answer before you run anything. There is one formula, and there are 50 batches: first 40 with
# 32 rows, and then 10 with 16.
#
# ```python
# def formula(x, w):
#     return mg.log(1 + mg.exp(x @ w)).mean()
#
# # eager:   for each batch, formula(x, w) and backward()
# # session: x = mg.placeholder("float64", (None, 2)), and formula(x, w) in the graph; for each batch, session.run
# # traced:  step = mg.function(formula); for each batch, step(x, w)
# ```
#
# - `calls`: how often does Python call `formula` in each? A list: [eager, session, traced].
# - `first`: which of them reports a wrong shape in `formula` before any batch was read? `"eager"`, `"session"` or
#   `"traced"`.
# - `innocent`: the logarithm fails in a run of the session. Which line does the traceback end at? `"formula"` or
#   `"session.run"`.
# - `equal`: are the 50 losses of the three equal to the last bit? True or False.

# %% answer="three_counts" points=2 minutes=5
### BEGIN SOLUTION
calls = [50, 1, 2]
first = "session"
innocent = "session.run"
equal = True
### END SOLUTION

# %%
check("three_counts")

# %% probes="three_counts"
# Hint: `calls`: eager runs the formula for each batch, a session's graph is built once, and a function is traced once
# for each shape.
list(calls)
# Hint: `first`: in which of the three is a formula checked before there is any data?
first
# Hint: `innocent`: the traceback shows where Python is when it happens. A run of a graph is one call.
innocent
# Hint: `equal`: the three do the same operations in the same order.
equal

# %% [markdown] hints="three_counts"
# 1. In eager mode Python runs the formula for each batch. When does it, if the graph is written down once?
# 2. A traced function is traced once for each signature, and a shape is part of it. How many shapes are there?
# 3. 50, 1 and 2. A session's graph is built before there is data. The traceback ends where Python is: it runs a graph.

# %% [markdown] shows="three_counts"
# Eager mode calls Python for each batch, a session once, a traced function once for each signature; all three run the
# same operations.

# %% wrong="three_counts"
# Shows: This fits the belief that the function is traced once, whatever comes.
# Hint: Its signature has the shape in it, and the last ten batches have another.
calls, first, innocent, equal = [50, 1, 1], "session", "session.run", True

# %% wrong="three_counts"
# Shows: Each run of a graph was counted as a call of the formula.
# Hint: A run executes nodes. Python calls the formula only to have it written down.
calls, first, innocent, equal = [50, 50, 50], "session", "session.run", True

# %% wrong="three_counts"
# Shows: This fits the belief that the session's graph is built once for each shape, as a trace is.
# Hint: Its placeholder has None for the number of rows: one graph serves for all of them.
calls, first, innocent, equal = [50, 2, 2], "session", "session.run", True

# %% wrong="three_counts"
# Shows: This fits the belief that the traceback of a run leads to the line that wrote the node.
# Hint: Python left the formula long before the run. It is the message that names the line; the traceback shows who ran.
calls, first, innocent, equal = [50, 1, 2], "session", "formula", True

# %% wrong="three_counts"
# Shows: This fits the belief that the three agree to some digits only.
# Hint: They run the same operations, each sum in the same order. How many of the lesson's 1468 numbers differed?
calls, first, innocent, equal = [50, 1, 2], "session", "session.run", False

# %% wrong="three_counts"
# Shows: The earliest error was looked for in eager mode, where lines run as they stand.
# Hint: Eagerly and traced, the first batch is there when the line runs. Which of the three has no batch yet when Python
# runs the line?
calls, first, innocent, equal = [50, 1, 2], "eager", "session.run", True

# %% [markdown]
# ## 2. Into a session
#
# **2 points, 7 minutes.** This fits a number w in eager mode:
#
# ```python
# def eager_fit(formula, xs, ys, steps):
#     w = mg.tensor(0.0, requires_grad=True)
#     losses = []
#     for _ in range(steps):
#         loss = formula(mg.tensor(xs), mg.tensor(ys), w)
#         (g,) = mg.grad(loss, [w])
#         with mg.no_grad():
#             w -= 0.1 * g
#         losses.append(loss.item())
#     return losses, w.item()
# ```
#
# Write `fit(formula, xs, ys, steps)`, which does the same with a graph and a session. It returns the same losses and
# the same w, to the bit. xs and ys are NumPy arrays with one axis. Python may call `formula` only once.


# %% answer="into_session" points=2 minutes=7
def fit(formula, xs, ys, steps):
    ### BEGIN SOLUTION
    with mg.Graph().as_default() as graph:
        x, y = (mg.placeholder("float64", (None,), name=name) for name in ("xs", "ys"))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        step = w.assign_sub(0.1 * g)
    with mg.Session(graph) as session:
        session.run(w.initializer)
        losses = [float(session.run([loss, step], {x: xs, y: ys})[0]) for _ in range(steps)]
        return losses, float(session.run(w))
    ### END SOLUTION


# %%
check("into_session")

# %% probes="into_session"
from unittest import mock

import numpy as numeric

import minigrad as engine


def squares(x, y, w):
    return ((w * x - y) ** 2).mean()


def absolute(x, y, w):
    return engine.log(engine.cosh(w * x - y)).mean() if hasattr(engine, "cosh") else ((w * x - y) ** 4).mean()


def line(n):
    rng = numeric.random.default_rng(n)
    xs = rng.normal(size=n)
    return xs, 3 * xs + rng.normal(size=n) / 10


def fitted(formula, n, steps):
    """Losses and weight of `fit`, and how often it called the formula."""
    calls = []

    def counted(*args):
        calls.append(1)
        return formula(*args)

    losses, w = fit(counted, *line(n), steps)
    return [float(each) for each in losses], float(w), len(calls)


@referee
def fitted(sent, formula, n, steps):
    """The first losses, whether all is as in eager mode, and how often the formula was called."""
    found, w, calls = sent
    xs, ys = line(n)
    v = engine.tensor(0.0, requires_grad=True)
    wanted = []
    for _ in range(steps):
        loss = formula(engine.tensor(xs), engine.tensor(ys), v)
        (g,) = engine.grad(loss, [v])
        with engine.no_grad():
            v -= 0.1 * g
        wanted.append(loss.item())
    return {
        "the first losses": [round(each, 4) for each in found[:3]],
        "all losses as in eager mode": found == wanted,
        "w as in eager mode": w == v.item(),
        "calls of the formula": calls,
    }


def runs_in_a_session():
    with mock.patch.object(engine.Session, "run", autospec=True, side_effect=engine.Session.run) as run:
        fit(squares, numeric.ones(2), numeric.ones(2), 3)
    return run.call_count


@referee
def runs_in_a_session(calls):
    return calls > 0


# Hint: Fetch the loss and the step in one run, so that the loss is that of the w before the step. The formula is called
# once, while you build.
fitted(squares, 20, 5)
# Hint: Thirty steps of another formula, to the bit.
fitted(absolute, 7, 30)
# Hint: With a single step, the w that comes out must be the updated one.
fitted(squares, 3, 1)
# Hint: No session ran.
runs_in_a_session()

# %% [markdown] hints="into_session"
# 1. Inside `with graph.as_default():` x and y are placeholders, w is a Variable, and the new value of w is a node, too.
# 2. One run fetches the loss and the step together: `session.run([loss, step], {x: xs, y: ys})`.
# 3. `step = w.assign_sub(0.1 * g)`, with g from `mg.gradients(loss, [w])`; and `session.run(w.initializer)` first.

# %% [markdown] shows="into_session"
# The formula stayed as it was: who runs it and when is another matter, and so the losses agree to the last bit.


# %% wrong="into_session"
# Shows: The numbers are right, and Python calls the formula at every step, as in eager mode.
# Hint: Call the formula once, on placeholders, inside a graph; in the loop there is nothing but session.run.
def fit(formula, xs, ys, steps):
    w = mg.tensor(0.0, requires_grad=True)
    losses = []
    for _ in range(steps):
        loss = formula(mg.tensor(xs), mg.tensor(ys), w)
        (g,) = mg.grad(loss, [w])
        with mg.no_grad():
            w -= 0.1 * g
        losses.append(loss.item())
    return losses, w.item()


# %% wrong="into_session"
# Shows: The numbers are right, and Python calls the formula once; but the step is traced, and no session runs.
# Hint: This part is about the second way: placeholders, an mg.Variable and the step in an mg.Graph, and `session.run`
# in the loop.
def fit(formula, xs, ys, steps):
    w = mg.tensor(0.0, requires_grad=True)

    @mg.function
    def step(x, y):
        loss = formula(x, y, w)
        (g,) = mg.grad(loss, [w])
        with mg.no_grad():
            w.sub_(0.1 * g)
        return loss

    return [step(mg.tensor(xs), mg.tensor(ys)).item() for _ in range(steps)], w.item()


# %% wrong="into_session"
# Shows: The variable has no value yet when the first run reads it.
# Hint: A variable gets its first value from its initializer, and that has to be run, once.
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        step = w.assign_sub(0.1 * g)
    session = mg.Session(graph)
    return [float(session.run([loss, step], {x: xs, y: ys})[0]) for _ in range(steps)], float(session.run(w))


# %% wrong="into_session"
# Shows: The loss is fetched and the step is not, so w stays 0: a run computes what is fetched, and no more.
# Hint: Fetch both: session.run([loss, step], …).
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        w.assign_sub(0.1 * g)
    session = mg.Session(graph)
    session.run(w.initializer)
    return [float(session.run(loss, {x: xs, y: ys})) for _ in range(steps)], float(session.run(w))


# %% wrong="into_session"
# Shows: Each loss is that of the next step: the step is run first, and the loss after it, in a run of its own.
# Hint: In one run all that is fetched reads the variables as they were before. Fetch both at once.
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        step = w.assign_sub(0.1 * g)
    session = mg.Session(graph)
    session.run(w.initializer)
    losses = []
    for _ in range(steps):
        session.run(step, {x: xs, y: ys})
        losses.append(float(session.run(loss, {x: xs, y: ys})))
    return losses, float(session.run(w))


# %% wrong="into_session"
# Shows: The w that came out is that of before the last step: it was fetched in the same run as the step.
# Hint: In one run all that is fetched reads the variables as they were before. Fetch w once more, after the loop.
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        step = w.assign_sub(0.1 * g)
    session = mg.Session(graph)
    session.run(w.initializer)
    runs = [session.run([loss, step, w], {x: xs, y: ys}) for _ in range(steps)]
    return [float(run[0]) for run in runs], float(runs[-1][2])


# %% wrong="into_session"
# Shows: The losses are right at first and then the same for ever: w is set to its first value before every run.
# Hint: The initializer is run once, before the loop.
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        step = w.assign_sub(0.1 * g)
    session = mg.Session(graph)
    losses = []
    for _ in range(steps):
        session.run(w.initializer)
        losses.append(float(session.run([loss, step], {x: xs, y: ys})[0]))
    return losses, float(session.run(w))


# %% wrong="into_session"
# Shows: The loss grows: w goes along the gradient, and not against it.
# Hint: Take 0.1 times the gradient away: assign_sub.
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        step = w.assign_add(0.1 * g)
    session = mg.Session(graph)
    session.run(w.initializer)
    return [float(session.run([loss, step], {x: xs, y: ys})[0]) for _ in range(steps)], float(session.run(w))


# %% [markdown]
# ## 3. Hunt a NaN
#
# **2 points, 8 minutes.** `standard` moves each column of a table to mean 0 and scales it to spread 1. With `table()`
# below, the result has NaNs:
#
# ```python
# def standard(x):                                  # x: (rows, columns)
#     centred = x - x.mean(0)
#     spread = mg.sqrt((centred * centred).mean(0))
#     return centred / spread
# ```
#
# Find the operation and the column. Run it in a session with `trap_nan=True`, or traced inside `mg.graph.trap_nan()`.
# Then write `standard(x)` so that
#
# - a column without any spread becomes 0;
# - all other columns stay as they are, **to the bit**;
# - no gradient with respect to x is NaN (fetch gradients under the trap to see what makes one);
# - it works on tensors and in a graph.


# %% name="table"
def table():
    x = np.random.default_rng(0).normal(size=(6, 4))
    x[:, 2] = 5.0  # a meter that was stuck
    return x


# %% answer="stuck_meter" points=2 minutes=8
def standard(x):
    ### BEGIN SOLUTION
    centred = x - x.mean(0)
    square = (centred * centred).mean(0)
    return centred / mg.sqrt(mg.where(square > 0, square, 1.0))
    ### END SOLUTION


# %%
check("stuck_meter")

# %% probes="stuck_meter"
import numpy as numeric

import minigrad as engine

READINGS = numeric.random.default_rng(0).normal(size=(6, 4))
STUCK = READINGS.copy()
STUCK[:, 2] = 5.0
SHARES = numeric.random.default_rng(1).normal(size=(6, 4))


def original(x):
    centred = x - x.mean(0)
    return centred / engine.sqrt((centred * centred).mean(0))


def with_slope(f, data):
    x = engine.tensor(data, requires_grad=True)
    with numeric.errstate(all="ignore"):
        y = f(x)
        (g,) = engine.grad((y * y * engine.tensor(SHARES)).sum(), [x])
    return y.numpy(), g.numpy()


def moving():
    return with_slope(standard, READINGS)


@referee
def moving(sent):
    """Values and gradients where every column moves: as they were, to the bit?"""
    (y, g), (wanted, slope) = map(numeric.array, sent), with_slope(original, READINGS)
    return {"values as before": (y == wanted).all(), "gradients as before": abs(g - slope).max() < 1e-12}


def tiny():
    return with_slope(standard, READINGS * 1e-9)[0]


@referee
def tiny(y):
    """A column that moves very little still has a spread."""
    return numeric.array_equal(y, with_slope(original, READINGS * 1e-9)[0])


def stuck():
    return with_slope(standard, STUCK)


@referee
def stuck(sent):
    """The column that stands still: its values, whether its gradients are numbers, and whether the others are right."""
    y, g = map(numeric.array, sent)
    wanted, slope = with_slope(original, STUCK)
    others = [0, 1, 3]
    return {
        "the stuck column": [float(v) + 0.0 for v in y[:, 2]],
        "gradients are numbers": bool(numeric.isfinite(g).all()),
        "other columns as before": bool((y[:, others] == wanted[:, others]).all()),
        "other gradients as before": bool(abs(g[:, others] - slope[:, others]).max() < 1e-12),
    }


def in_a_graph():
    with engine.Graph().as_default() as graph:
        x = engine.placeholder("float64", (None, 4))
        y = standard(x)
    with engine.Session(graph) as session, numeric.errstate(all="ignore"):
        return [[round(float(v), 6) + 0.0 for v in row] for row in session.run(y, {x: STUCK})[:2]]


# Hint: Where every column moves, values and gradients should stay as they are, to the bit: add nothing to the spread.
moving()
# Hint: The stuck column should become 0, and no gradient may be NaN. `where` computes both sides, so make the number
# harmless before the root.
stuck()
# Hint: A column that moves very little still has a spread: ask for more than 0, not for more than some small number.
tiny()
# Hint: It should work in a graph, where the spread has no value that Python's `if` could look at.
in_a_graph()

# %% [markdown] hints="stuck_meter"
# 1. The trap names a division: 0 by 0. `where` chooses, but both of its sides are computed, and get gradients.
# 2. So let the number that is divided by be a harmless one *before* the division: `mg.where(spread > 0, spread, 1.0)`.
#    Then fetch gradients under the trap once more: what is the slope of a square root at 0?
# 3. Make it harmless before the root: `mg.sqrt(mg.where(square > 0, square, 1.0))`, with the mean of the squares.

# %% [markdown] shows="stuck_meter"
# A division by zero has to be made harmless before the root, too: at 0 a square root has an infinite slope, and that
# times 0 is NaN.


# %% wrong="stuck_meter"
# Shows: It is as it was: the stuck column is NaN.
# Hint: Run it under the trap, on table(): which operation makes the first NaN, and what does it read?
def standard(x):
    centred = x - x.mean(0)
    spread = mg.sqrt((centred * centred).mean(0))
    return centred / spread


# %% wrong="stuck_meter"
# Shows: A little was added to the spread of all columns: no NaN, and every other column has changed.
# Hint: Only the column without any spread may be touched: choose with mg.where.
def standard(x):
    centred = x - x.mean(0)
    spread = mg.sqrt((centred * centred).mean(0))
    return centred / (spread + 1e-8)


# %% wrong="stuck_meter"
# Shows: A little was added below the root: no NaN, and every other column has changed.
# Hint: This is the right place, but only the column without any spread may be touched: let mg.where choose there.
def standard(x):
    centred = x - x.mean(0)
    return centred / mg.sqrt((centred * centred).mean(0) + 1e-12)


# %% wrong="stuck_meter"
# Shows: The values are right, and the gradients are NaN: what makes them still runs, on the side that is not taken.
# Hint: Fetch the gradient under the trap. The division may be harmless by now; but the slope of a root at 0 is
# infinite, and 0 × ∞ is NaN. Let mg.where choose before the root.
def standard(x):
    centred = x - x.mean(0)
    spread = mg.sqrt((centred * centred).mean(0))
    return centred / mg.where(spread > 0, spread, 1.0)


# %% wrong="stuck_meter"
# Shows: It works in eager mode, and not in a graph: there the spread has no value that Python could look at.
# Hint: Let an operation choose: mg.where.
def standard(x):
    centred = x - x.mean(0)
    square = (centred * centred).mean(0)
    return centred / mg.sqrt(mg.tensor([s if s > 0 else 1.0 for s in square.tolist()]))


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. One call of Python
#
# **2 points, 8 minutes.** A model has to be judged on batches of many lengths. `batches` is a list of NumPy arrays of
# shape (rows, 2), each with its own number of rows. `formula` takes such a batch, as a tensor or as a node, and returns
# one number, which may depend on the whole batch.
#
# Write `judge(formula, batches)`. It returns the list of these numbers, as floats. Python may call `formula` only once,
# however many batches there are.


# %% answer="judged_once" points=2 minutes=8
def judge(formula, batches):
    ### BEGIN SOLUTION
    traced = mg.function(formula, input_signature=[mg.TensorSpec((None, 2))])
    return [traced(mg.tensor(batch)).item() for batch in batches]
    ### END SOLUTION


# %%
check("judged_once")

# %% probes="judged_once"
import numpy as numeric

import minigrad as engine


def centred(x):
    return engine.log(1 + engine.exp(x - x.mean(0))).mean()


def distance(x):
    return engine.sqrt((x * x).sum(1)).max()


def batches_of(lengths):
    rng = numeric.random.default_rng(len(lengths))
    return [rng.normal(size=(n, 2)) for n in lengths]


def judged(formula, lengths):
    """The numbers, and how often the formula was called."""
    calls = []

    @engine.graph.autograph.do_not_convert
    def counted(x):
        calls.append(1)
        return formula(x)

    return [float(each) for each in judge(counted, batches_of(lengths))], len(calls)


@referee
def judged(sent, formula, lengths):
    """The numbers, whether they are those of a run, and how often the formula was called."""
    found, calls = sent
    wanted = [formula(engine.tensor(batch)).item() for batch in batches_of(lengths)]
    close = len(found) == len(wanted) and all(abs(a - b) < 1e-12 for a, b in zip(found, wanted))
    return {
        "the first numbers": [round(each, 4) for each in found[:3]],
        "all numbers as in eager mode": close,
        "calls of the formula": calls,
    }


# Hint: Batches of different lengths: one trace for all of them, if the length is open in the signature.
judged(centred, [3, 5, 8])
# Hint: The formula looks at a batch as a whole: each batch goes in alone, with no rows added.
judged(distance, [1, 4, 2, 7])
# Hint: Three batches of one length.
judged(centred, [4, 4, 4])
# Hint: A single batch.
judged(centred, [30])

# %% [markdown] hints="judged_once"
# 1. A traced function is traced again for each new shape, unless you say that a length is open.
# 2. You say so in the signature: `input_signature=[mg.TensorSpec((None, 2))]`; or a placeholder, in a session.
# 3. `traced = mg.function(formula, input_signature=[mg.TensorSpec((None, 2))])`, and then `traced(...)` for each batch.

# %% [markdown] shows="judged_once"
# A length that is left open lets one graph serve batches of every length.


# %% wrong="judged_once"
# Shows: The numbers are right, and Python calls the formula for each batch: eagerly, or to build a graph for each.
# Hint: Build one graph before the loop, with an open length, and run it for each batch.
def judge(formula, batches):
    return [formula(mg.tensor(batch)).item() for batch in batches]


# %% wrong="judged_once"
# Shows: The function is traced once for each length: a shape is part of its signature.
# Hint: Say that the length is open: None, in the input_signature.
def judge(formula, batches):
    traced = mg.function(formula)
    return [traced(mg.tensor(batch)).item() for batch in batches]


# %% wrong="judged_once"
# Shows: All rows went into one call. The formula looks at a batch as a whole, so this is the number of a different
# batch.
# Hint: Each batch must be judged by itself: one graph, and a run for each.
def judge(formula, batches):
    return [formula(mg.tensor(np.concatenate(batches))).item()] * len(batches)


# %% wrong="judged_once"
# Shows: Batches were filled up with zeros to one length, and the formula counts these rows, too.
# Hint: Leave the batches as they are, and the length open: None in the signature.
def judge(formula, batches):
    longest = max(map(len, batches))
    traced = mg.function(formula)
    filled = [np.concatenate([b, np.zeros((longest - len(b), 2))]) for b in batches]
    return [traced(mg.tensor(b)).item() for b in filled]


# %% wrong="judged_once"
# Shows: With reduce_retracing the first length gets a trace of its own, and only the second trace is for all lengths.
# Hint: Say beforehand that the length is open: input_signature.
def judge(formula, batches):
    traced = mg.function(formula, reduce_retracing=True)
    return [traced(mg.tensor(batch)).item() for batch in batches]


# %% [markdown]
# ### 5. A model of your own
#
# **2 points, 10 minutes.** Design a model for the two moons. Write two functions:
#
# - `weights()` returns a list of NumPy arrays to start from;
# - `score(x, *weights)` takes points x, one in each row, and returns one number for each, in the shape (rows, 1). It is
#   above 0 for the lower moon.
#
# The check trains it with a learning rate of 1 and the loss of lesson 03: the mean of ln(1 + e⁻ˢ) for lower points and
# ln(1 + eˢ) for upper ones, where s is the score. It is right if
#
# - after 20 steps in eager mode, in a session and traced, all three have the same losses, to the bit;
# - after 300 steps, traced, at least 95 of 100 points are on their right side;
# - the score has at most 20 nodes.


# %% answer="own_model" points=2 minutes=10
### BEGIN SOLUTION
def weights():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(2, 12)), rng.normal(size=12), rng.normal(size=(12, 1)) / 4]


def score(x, W, b, v):
    return mg.sin(x @ W + b) @ v


### END SOLUTION

# %%
check("own_model")

# %% probes="own_model"
import numpy as numeric

import minigrad as engine
from minigrad.saving import evidence

MOONS, WHICH = engine.data.moons(100, noise=0.1, seed=0)
SIDES = 2.0 * WHICH[:, None] - 1


def loss_of(x, side, *ws):
    return engine.log(1 + engine.exp(-side * score(x, *ws))).mean()


def trained(steps, traced):
    ws = [engine.tensor(numeric.asarray(w, dtype=float), requires_grad=True) for w in weights()]
    x, side = engine.tensor(MOONS), engine.tensor(SIDES)

    def step(x, side):
        loss = loss_of(x, side, *ws)
        slopes = engine.grad(loss, ws)
        with engine.no_grad():
            for w, g in zip(ws, slopes):
                w -= g
        return loss.detach()

    step = engine.function(step, autograph=False) if traced else step
    return [step(x, side).item() for _ in range(steps)], ws


def in_session(steps):
    with engine.Graph().as_default() as graph:
        x, side = engine.placeholder("float64", (None, 2)), engine.placeholder("float64", (None, 1))
        ws = [engine.Variable(numeric.asarray(w, dtype=float)) for w in weights()]
        loss = loss_of(x, side, *ws)
        slopes = engine.gradients(loss, ws)
        train = engine.group(*(w.assign_sub(g) for w, g in zip(ws, slopes)))
        begin = engine.global_variables_initializer()
    with engine.Session(graph) as session:
        session.run(begin)
        return [float(session.run([loss, train], {x: MOONS, side: SIDES})[0]) for _ in range(steps)]


def shape():
    ws = [engine.tensor(numeric.asarray(w, dtype=float), requires_grad=True) for w in weights()]
    y = score(engine.tensor(MOONS), *ws)
    return y.shape, evidence.sent_nodes(y)


@referee
def shape(sent):
    size, nodes = sent
    return {"a score for each point, (100, 1)": size == [100, 1], "within 20 nodes": len(nodes) <= 20}


def same_start():
    return [*weights()], [*weights()]


@referee
def same_start(two):
    return two[0] == two[1]


def traced_as_eager():
    return trained(20, traced=True)[0], trained(20, traced=False)[0]


def session_as_eager():
    return in_session(20), trained(20, traced=False)[0]


@referee
def traced_as_eager(losses):
    return losses[0] == losses[1]


@referee
def session_as_eager(losses):
    return losses[0] == losses[1]


def learned():
    with numeric.errstate(all="ignore"):
        ws = trained(300, traced=True)[1]
        with engine.no_grad():
            return score(engine.tensor(MOONS), *ws).numpy()


@referee
def learned(scores):
    return ((numeric.array(scores) > 0) == (SIDES > 0)).sum() >= 95


# Hint: `score` should give (rows, 1), with at most 20 nodes.
shape()
# Hint: `weights()` should give the same numbers at every call: make the generator with a fixed seed inside it.
same_start()
# Hint: Traced and eager differ: does `score` do something in Python that a trace does only once?
traced_as_eager()
# Hint: The session and eager mode differ, or `score` does not work on symbols.
session_as_eager()
# Hint: After 300 steps fewer than 95 of the 100 points are on their right side.
learned()

# %% [markdown] hints="own_model"
# 1. Begin with one layer of neurons: `mg.tanh(x @ W + b) @ v + c`. Then change something: another bend, other widths.
# 2. Only operations may be in it: no Python numbers drawn at random, no `if`, no `.numpy()` of what is computed.
# 3. `weights`: `[rng.normal(size=(2, 12)), np.zeros(12), rng.normal(size=(12, 1)) / 4]`, with a generator made inside,
#    with a seed of its own; `score`: `mg.tanh(x @ W + b) @ v`.

# %% [markdown] shows="own_model"
# A model that is written in operations alone can be run in all three ways, so the choice may be made late, and made
# again.


# %% wrong="own_model"
# Shows: All agree, but it does not learn the moons: without a bend the border is a straight line, and where all weights
# begin at 0 the neurons stay alike.
# Hint: Put a bend between two matrices, such as mg.tanh, and begin with random numbers, drawn with a seed.
def weights():
    return [np.array([[0.1], [0.2]]), np.zeros(1)]


def score(x, W, b):
    return x @ W + b


# %% wrong="own_model"
# Shows: The ways disagree, because Python draws the noise: at each step in eager mode, but only once in a graph.
# Hint: What is drawn outside the operations becomes a constant of the graph. Leave it out.
_dice = np.random.default_rng()


def weights():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(2, 12)), np.zeros(12), rng.normal(size=(12, 1)) / 4]


def score(x, W, b, v):
    return mg.tanh((x + 0.05 * _dice.normal()) @ W + b) @ v


# %% wrong="own_model"
# Shows: The start is different at each call, so no two programs can agree.
# Hint: Make the generator inside weights(), with a seed.
_drawing = np.random.default_rng()


def weights():
    return [_drawing.normal(size=(2, 12)), np.zeros(12), _drawing.normal(size=(12, 1)) / 4]


def score(x, W, b, v):
    return mg.tanh(x @ W + b) @ v


# %% wrong="own_model"
# Shows: It works in eager mode, and not in a graph: there is no value to look at while the graph is built.
# Hint: Use operations only: mg.maximum, mg.where, and not .numpy() or Python's if on what is computed.
def weights():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(2, 12)), np.zeros(12), rng.normal(size=(12, 1)) / 4]


def score(x, W, b, v):
    hidden = x @ W + b
    return hidden * mg.tensor((hidden.numpy() > 0).astype(float)) @ v


# %% wrong="own_model"
# Shows: There are too many nodes: each neuron was written by itself.
# Hint: A whole layer is one product of matrices. Twelve neurons are twelve columns of W.
def weights():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(2, 12)), np.zeros(12), rng.normal(size=(12, 1)) / 4]


def score(x, W, b, v):
    return sum(mg.tanh(x @ W[:, i : i + 1] + b[i]) * v[i] for i in range(12))


# %% wrong="own_model"
# Shows: The scores have one axis, and the sides have two, so they broadcast: each point meets every side.
# Hint: One number for each row, in the shape (rows, 1): let the last matrix have one column.
def weights():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(2, 12)), np.zeros(12), rng.normal(size=12) / 4]


def score(x, W, b, v):
    return mg.tanh(x @ W + b) @ v


# %% [markdown]
# ## What you have now
#
# Three ways that run the same operations, and so give the same bits; the one that fits the job; and an eye for who ran
# a graph and who built it.
#
# **Next**: [13 Optimising a graph](../lessons/13_optimising_a_graph.ipynb).
