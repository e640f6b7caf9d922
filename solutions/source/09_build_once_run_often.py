# ---
# jupyter:
#   minigrad:
#     title: Build once, run often
#     minutes: 38
#     lesson: 09_define_then_run
#     concepts: [C1, C2, C3, C4]
# ---

# %% [markdown]
# # 09 Build once, run often
#
# You say what a run computes, build a graph that learns, mend a program that builds in its loop, and design a graph of
# which each run computes only a part. About 38 minutes, 10 points, in four parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution

# %% [markdown]
# A reminder of the words: the graph holds a variable and an operation that changes it. The session runs the
# initializer, then the operation, and `last_run` says what it computed.

# %% name="reminder"
with mg.Graph().as_default() as reminder:
    amount = mg.placeholder("float64", name="amount")
    saved = mg.Variable(10.0, name="saved")
    spend = saved.assign_sub(amount * 2)

session = mg.Session(reminder)
session.run(saved.initializer)
session.run(spend, {amount: 1.5})
print(session.run(saved), session.last_run)

# %% [markdown]
# ## 1. What runs
#
# **2 points, 7 minutes.** Answer before you run anything. How many operations does each of these four runs compute? An
# operation is a `+`, a `*` or an `.exp()`. Give four numbers, `first` to `fourth`.
#
# ```python
# with mg.Graph().as_default() as graph:
#     a = mg.placeholder("float64", name="a")
#     b = mg.placeholder("float64", name="b")
#     s = a + b
#     p = s * s
#     q = p + a
#     e = b.exp()
#     r = e * p
#
# session = mg.Session(graph)
# session.run(q, {a: 1, b: 2})          # first
# session.run([q, r], {a: 1, b: 2})     # second
# session.run(r, {p: 9, b: 2})          # third
# session.run(a, {a: 1})                # fourth
# ```

# %% answer="what_runs" points=2 minutes=7
### BEGIN SOLUTION
first, second, third, fourth = 3, 5, 2, 0
### END SOLUTION

# %%
check("what_runs")

# %% probes="what_runs"
# Hint: `first`: go backwards from q. Each node that it needs is computed once, and placeholders are no operations.
first
# Hint: `second`: q and r in one run. What both need is computed once.
second
# Hint: `third`: p is fed, so neither p nor what made it is computed.
third
# Hint: `fourth`: a placeholder that is fed needs no operation.
fourth

# %% [markdown] hints="what_runs"
# 1. Go backwards from what is fetched. q needs p and a; p needs s, twice, but s is one node; s needs a and b.
# 2. A second fetch adds only what has not been met: r needs e, and p, which runs anyway.
# 3. What is fed is not computed, and what made it is not needed. With p fed, r needs e, and the product.

# %% [markdown] shows="what_runs"
# A run goes back from what is fetched: it computes each node that is needed once, and stops at what is fed.

# %% wrong="what_runs" misconception="M11"
# Shows: Every run is expected to compute the whole graph.
# Hint: A session goes backwards from the fetches and takes what it meets, and nothing else. Nobody needs e for q.
first, second, third, fourth = 5, 5, 5, 5

# %% wrong="what_runs"
# Shows: p was fed, and what makes p was counted all the same.
# Hint: A node that is fed has the value it is given. The run does not ask how it would have come about, so s and p are
# not computed.
first, second, third, fourth = 3, 5, 4, 0

# %% wrong="what_runs"
# Shows: What q and r both need was counted twice in one run.
# Hint: p is one node. A run computes each node once, however many fetches need it.
first, second, third, fourth = 3, 7, 2, 0

# %% wrong="what_runs"
# Shows: The placeholders were counted, too.
# Hint: A placeholder that is fed computes nothing. Count the operations only.
first, second, third, fourth = 5, 7, 3, 1

# %% [markdown]
# ## 2. A line that learns
#
# **3 points, 12 minutes.** Write `line()`, which builds a graph of its own and returns a dictionary of what is in it:
#
# | key | what |
# |---|---|
# | `"graph"` | the graph |
# | `"x"`, `"y"` | placeholders for any number of floats, `(None,)` |
# | `"w"`, `"b"` | variables, both 0 at first |
# | `"loss"` | the mean of the squares of w · x + b − y |
# | `"start"` | an operation that gives both variables their first value |
# | `"step"` | an operation that moves both by −0.1 times their gradient |
#
# `line` builds the graph and runs nothing: the check opens sessions of its own. When `line` has returned, no run may
# add a node.


# %% answer="learning_line" points=3 minutes=12
def line():
    ### BEGIN SOLUTION
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None,), name="x")
        y = mg.placeholder("float64", (None,), name="y")
        w, b = mg.Variable(0.0, name="w"), mg.Variable(0.0, name="b")
        loss = (w * x + b - y).square().mean()
        step = mg.optim.SGD([w, b], lr=0.1).minimize(loss)
        start = mg.graph.global_variables_initializer()
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": start, "step": step}
    ### END SOLUTION


# %%
check("learning_line")

# %% probes="learning_line"
from unittest import mock

from minigrad import Session as NewSession


def opened():
    parts = line()
    session = NewSession(parts["graph"])
    if "start" in parts:
        session.run(parts["start"])
    return parts, session


def after_steps(n, xs, ys):
    parts, session = opened()
    values = {parts["x"]: xs, parts["y"]: ys}
    for _ in range(n):
        session.run(parts["step"], values)
    return [round(float(session.run(parts[name], values)), 6) for name in ("w", "b", "loss")]


def nodes_added_by_runs():
    parts, session = opened()
    before = len(parts["graph"].get_operations())
    for n in (1, 2, 3):
        session.run([parts["loss"], parts["step"]], {parts["x"]: [1.0] * n, parts["y"]: [2.0] * n})
    return len(parts["graph"].get_operations()) - before


def two_sessions():
    parts, session = opened()
    other = NewSession(parts["graph"])
    other.run(parts["start"])
    session.run(parts["step"], {parts["x"]: [1.0], parts["y"]: [1.0]})
    return [round(float(each.run(parts["w"])), 6) for each in (session, other)]


def runs_while_building():
    """How many sessions run, and how many tensors are computed at once, while `line` builds."""
    runs = []
    with mock.patch.object(NewSession, "run", lambda *args, **others: runs.append(args)):
        line()
    return len(runs)


# Hint: Before any step w and b are 0, and the loss is the mean of y². `start` gives both variables their first value.
after_steps(0, [1.0, 2.0], [3.0, 5.0])
# Hint: One step moves both w and b by −0.1 times their gradient; the loss is a mean, not a sum.
after_steps(1, [1.0, 2.0], [3.0, 5.0])
# Hint: Three steps on three points: x and y take any number of floats.
after_steps(3, [1.0, 2.0, -1.0], [3.0, 5.0, -1.0])
# Hint: After 50 steps on one point the loss is nearly 0.
after_steps(50, [2.0], [1.0])
# Hint: Runs should add no node: make the step and the gradient while you build.
nodes_added_by_runs()
# Hint: The variables live in the session: another session still has w = 0.
two_sessions()
# Hint: `line` should only build: no session may run in it.
runs_while_building()

# %% [markdown] hints="learning_line"
# 1. Everything inside `with mg.Graph().as_default() as graph:`. A variable is `mg.Variable(0.0, name="w")`.
# 2. `mg.optim.SGD([w, b], lr=0.1).minimize(loss)` is the step as one operation. By hand it is two: `mg.gradients(loss,
# [w, b])`, and then `w.assign_sub(0.1 * gw)`, and the same for b; `mg.graph.group` makes one of two.
# 3. `start` is `mg.graph.global_variables_initializer()`, made last: an optimizer brings variables of its own.

# %% [markdown] shows="learning_line"
# Gradients and updates are nodes like any others: once the graph is built, training is running one of them again and
# again.


# %% wrong="learning_line"
# Shows: The squares were summed, not averaged: the gradient grows with the number of points.
# Hint: The loss is the mean of the squares: `.mean()` at the end.
def line():
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w, b = mg.Variable(0.0), mg.Variable(0.0)
        loss = (w * x + b - y).square().sum()
        step = mg.optim.SGD([w, b], lr=0.1).minimize(loss)
        start = mg.graph.global_variables_initializer()
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": start, "step": step}


# %% wrong="learning_line"
# Shows: The step moves w and leaves b where it is.
# Hint: Both variables must move: give the optimizer [w, b].
def line():
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w, b = mg.Variable(0.0), mg.Variable(0.0)
        loss = (w * x + b - y).square().mean()
        step = mg.optim.SGD([w], lr=0.1).minimize(loss)
        start = mg.graph.global_variables_initializer()
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": start, "step": step}


# %% wrong="learning_line"
# Shows: The step adds the gradient: the loss grows.
# Hint: Down is against the gradient: `assign_sub`, not `assign_add`.
def line():
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w, b = mg.Variable(0.0), mg.Variable(0.0)
        loss = (w * x + b - y).square().mean()
        gw, gb = mg.gradients(loss, [w, b])
        start = mg.graph.global_variables_initializer()
        step = mg.graph.group(w.assign_add(0.1 * gw), b.assign_add(0.1 * gb))
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": start, "step": step}


# %% wrong="learning_line"
# Shows: The initializer was made before the optimizer, which brings variables of its own: those have no value when the
# step runs.
# Hint: `global_variables_initializer()` covers the variables that exist when it is called. Call it last.
def line():
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w, b = mg.Variable(0.0), mg.Variable(0.0)
        loss = (w * x + b - y).square().mean()
        start = mg.graph.global_variables_initializer()
        step = mg.optim.SGD([w, b], lr=0.1).minimize(loss)
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": start, "step": step}


# %% wrong="learning_line"
# Shows: The optimizer was told to take a step at once, as in eager mode. A graph that is being built has no gradient
# yet.
# Hint: `minimize(loss)` writes the step down, gradients first, and returns the operation. A session runs it.
def line():
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w, b = mg.Variable(0.0), mg.Variable(0.0)
        loss = (w * x + b - y).square().mean()
        step = mg.optim.SGD([w, b], lr=0.1).step()
        start = mg.graph.global_variables_initializer()
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": start, "step": step}


# %% wrong="learning_line" misconception="M10"
# Shows: x, y, w and b are all placeholders. A placeholder holds no value, so there is nothing that a step could move.
# Hint: What is fed is gone after the run. What must stay from run to run is an `mg.Variable`; data that is new at each
# run is a placeholder.
def line():
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
        w, b = mg.placeholder("float64"), mg.placeholder("float64")
        loss = (w * x + b - y).square().mean()
        gw, gb = mg.gradients(loss, [w, b])
    return {"graph": graph, "x": x, "y": y, "w": w, "b": b, "loss": loss, "start": [], "step": [w - gw, b - gb]}


# %% [markdown]
# ## 3. A loop that builds
#
# **2 points, 8 minutes.** x is a placeholder of the session's graph. `distances(session, x, centres)` returns a list of
# floats: (x − centre)² at x = 3, for each number in `centres`. For example, the centres 1.0 and 5.0 give [4.0, 4.0].
# Somebody wrote:
#
# ```python
# def distances(session, x, centres):
#     results = []
#     for centre in centres:
#         results.append(float(session.run((x - centre) * (x - centre), {x: 3.0})))
#     return results
# ```
#
# The numbers are right, but each centre leaves new nodes in the graph. Mend it: a call may add **at most 4 nodes** to
# the graph, however many centres there are. To make a placeholder in the session's graph, open it again with `with
# session.graph.as_default():`.


# %% answer="loop_that_builds" points=2 minutes=8
def distances(session, x, centres):
    ### BEGIN SOLUTION
    with session.graph.as_default():
        centre = mg.placeholder("float64", name="centre")
        squared = (x - centre).square()
    return [float(session.run(squared, {x: 3.0, centre: number})) for number in centres]
    ### END SOLUTION


# %%
check("loop_that_builds")

# %% probes="loop_that_builds"
from unittest import mock

from minigrad import Graph as NewGraph
from minigrad import Session as NewSession
from minigrad import placeholder as new_placeholder
import numpy as numeric


def distances_of(*centres):
    graph = NewGraph()
    with graph.as_default():
        x = new_placeholder("float64", name="x")
    session = NewSession(graph)
    before = len(graph.get_operations())
    found = distances(session, x, list(centres))
    added = len(graph.get_operations()) - before
    return [round(float(d), 6) for d in found], added, where_x_is_four(session, x, centres)


def where_x_is_four(session, x, centres):
    """The distances that come out if 4 is fed for x, whatever is asked for: those of a graph that reads x."""

    def run(fetches, feed_dict=None, **others):
        feeds = {k: numeric.full_like(v, 4.0) if k is x else v for k, v in (feed_dict or {}).items()}
        return NewSession.run(session, fetches, feeds, **others)

    with mock.patch.object(session, "run", run):
        return [round(float(d), 6) for d in distances(session, x, list(centres))]


@referee
def distances_of(sent):
    found, added, at_four = sent
    return {
        "distances": found,
        "distances if 4 is fed for x": at_four,
        "nodes added": "within the budget" if added <= 4 else "a few too many" if added <= 8 else "many",
        "in the graph": added > 0,
    }


# Hint: The distances are those of x = 3, computed in the graph from x and from a placeholder for the centre. The nodes
# are made before the loop.
distances_of(1.0, 2.0, 5.0)
# Hint: A single centre.
distances_of(1.0)
# Hint: No centre at all: the list is empty.
distances_of()
# Hint: Negative centres, and the same centre twice.
distances_of(-0.5, 3.0, 3.0)
# Hint: Twenty centres, which are whole numbers: still at most 4 new nodes.
distances_of(*range(20))

# %% [markdown] hints="loop_that_builds"
# 1. Which values change from round to round? They ought to come in by a feed, not to be written into the graph.
# 2. Make a placeholder for the centre, and the difference and its square, before the loop, inside `with
# session.graph.as_default():`.
# 3. `[float(session.run(squared, {x: 3.0, centre: number})) for number in centres]`.

# %% [markdown] shows="loop_that_builds"
# What changes is fed: an operation that is written inside a Python loop is a new node at each turn, and a graph only
# grows.


# %% wrong="loop_that_builds"
# Shows: Nothing has changed: each round writes a difference and a product more into the graph.
# Hint: `x - centre` in the loop builds a node, each time. Build one, with a placeholder for the centre, before the
# loop.
def distances(session, x, centres):
    found = []
    for centre in centres:
        found.append(float(session.run((x - centre) * (x - centre), {x: 3.0})))
    return found


# %% wrong="loop_that_builds"
# Shows: The session's graph was not asked at all: the numbers were computed in Python, or in a graph of their own.
# Hint: The task is to run the graph of x. Build the difference once, with a placeholder for the centre.
def distances(session, x, centres):
    return [(3.0 - centre) ** 2 for centre in centres]


# %% wrong="loop_that_builds"
# Shows: The graph is built once, and with the first centre written into it: each run gives the same distance.
# Hint: What changes from run to run must be fed. Put a placeholder where the number is.
def distances(session, x, centres):
    squared = (x - centres[0]).square()
    return [float(session.run(squared, {x: 3.0})) for _ in centres]


# %% wrong="loop_that_builds"
# Shows: The placeholder was made outside the graph that x is in.
# Hint: Make it inside `with session.graph.as_default():`. Operations on x find the graph of x by themselves; a new leaf
# does not.
def distances(session, x, centres):
    centre = mg.placeholder("float64", name="centre")
    squared = (x - centre).square()
    return [float(session.run(squared, {x: 3.0, centre: number})) for number in centres]


# %% wrong="loop_that_builds" misconception="M10"
# Shows: The placeholder was used as a number: `float(x)` asks for a value that it does not hold.
# Hint: A placeholder has no value, before, during or after. Build with x, and read numbers from what `session.run`
# returns.
def distances(session, x, centres):
    return [(float(x) - centre) ** 2 for centre in centres]


# %% [markdown]
# ## 4. Design your own
#
# **3 points, 11 minutes.** Design a graph of which each run computes only a part. Write `my_graph()`. It builds the
# graph, runs nothing, and returns a dictionary:
#
# | key | what |
# |---|---|
# | `"x"` | a placeholder for one float |
# | `"cheap"` | a number that depends on x |
# | `"dear"` | another number that depends on x |
# | `"way"` | a node between x and `dear` |
# | `"slope"` | the gradient of `dear` with respect to x, as a node of the same graph |
#
# It is right if
#
# - a run that fetches `cheap` computes at most 2 operations;
# - a run that fetches `dear` computes at least 8;
# - `cheap` and `dear` have an operation in common;
# - if `way` is fed as well as x, a run that fetches `dear` computes at most half as many operations as before;
# - `slope` is not 0 at x = 0.5.
#
# Constants do not count as operations. `session.last_run` shows what a run has computed.


# %% answer="own_graph" points=3 minutes=11
def my_graph():
    ### BEGIN SOLUTION
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x * x
        way = cheap
        for _ in range(4):
            way = (way + 1).tanh()
        dear = way * 2 + way
        (slope,) = mg.gradients(dear, [x])
    return {"x": x, "cheap": cheap, "way": way, "dear": dear, "slope": slope}
    ### END SOLUTION


# %%
check("own_graph")

# %% probes="own_graph"
from unittest import mock

from minigrad import Session as NewSession


def ran(fetch, feed_way=False):
    parts = my_graph()
    x = parts["x"]
    session = NewSession(x.graph)
    session.run(parts[fetch], {x: 0.5} | ({parts["way"]: 0.25} if feed_way else {}))
    return {n for n in session.last_run.executed if "Const" not in n and n != x.name}


def value(fetch, at):
    parts = my_graph()
    return float(NewSession(parts["x"].graph).run(parts[fetch], {parts["x"]: at}))


def runs_of_my_graph():
    """How many sessions run while `my_graph` builds."""
    runs = []
    with mock.patch.object(NewSession, "run", lambda *args, **others: runs.append(args)):
        my_graph()
    return len(runs)


def way_is_inside():
    parts = my_graph()
    return [parts[name].name for name in ("way", "dear", "x")]


@referee
def way_is_inside(names):
    way, *others = names
    return way not in others


def slope_is_that_of_dear():
    return [value("slope", 0.5), value("dear", 0.50001), value("dear", 0.49999)]


@referee
def slope_is_that_of_dear(values):
    slope, up, down = values
    return abs(slope - (up - down) / 2e-5) < 1e-4


# Hint: `cheap` should depend on x.
value("cheap", 0.5) != value("cheap", 0.8)
# Hint: Fetching `cheap` should run one or two operations.
1 <= len(ran("cheap")) <= 2
# Hint: Fetching `dear` should run at least 8 operations. The same operation on the same operands, written twice, is
# two.
len(ran("dear")) >= 8
# Hint: `cheap` and `dear` have no operation in common: build `dear` on top of `cheap`.
len(ran("cheap") & ran("dear")) > 0
# Hint: With `way` fed, `dear` should run at most half as many operations: put `way` near its end.
2 * len(ran("dear", feed_way=True)) <= len(ran("dear"))
# Hint: `way` should be a node between x and `dear`, neither of these two itself.
way_is_inside()
# Hint: `slope` is 0 at x = 0.5.
abs(value("slope", 0.5)) > 1e-9
# Hint: `slope` is not the gradient of `dear` with respect to x.
slope_is_that_of_dear()
# Hint: `my_graph` should only build: no session may run in it.
runs_of_my_graph()

# %% [markdown] hints="own_graph"
# 1. Begin with `cheap = x * x`, and build `dear` on top of it, with a Python loop that adds operations.
# 2. `way` is a node near the end of the road to `dear`: feed it, and what comes before it is not computed.
# 3. `way = cheap`; four times `way = (way + 1).tanh()`; `dear = way * 2 + way`; `(slope,) = mg.gradients(dear, [x])`.

# %% [markdown] shows="own_graph"
# In one graph each result has a price of its own, and feeding a node saves all the work that leads to nothing else.


# %% wrong="own_graph" misconception="M11"
# Shows: cheap and dear have no node in common: they are two separate graphs. A run computes what its fetch needs, so
# cheap would be just as cheap if dear were built on it.
# Hint: A session does not run the whole graph, so sharing costs cheap nothing. Build dear from cheap.
def my_graph():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x * x
        way = x
        for _ in range(4):
            way = (way + 1).tanh()
        dear = way * 2 + way
        (slope,) = mg.gradients(dear, [x])
    return {"x": x, "cheap": cheap, "way": way, "dear": dear, "slope": slope}


# %% wrong="own_graph"
# Shows: With `way` fed, nearly all of `dear` still has to run: `way` is near its beginning, or not on the road to it.
# Hint: Only what leads to `way` is saved. Choose a node on the road to `dear`, near its end.
def my_graph():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x * x
        way = cheap
        dear = way
        for _ in range(4):
            dear = (dear + 1).tanh()
        (slope,) = mg.gradients(dear, [x])
    return {"x": x, "cheap": cheap, "way": way, "dear": dear, "slope": slope}


# %% wrong="own_graph"
# Shows: The slope is that of cheap, not of dear.
# Hint: mg.gradients(dear, [x]): first what is derived, then with respect to what.
def my_graph():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x * x
        way = cheap
        for _ in range(4):
            way = (way + 1).tanh()
        dear = way * 2 + way
        (slope,) = mg.gradients(cheap, [x])
    return {"x": x, "cheap": cheap, "way": way, "dear": dear, "slope": slope}


# %% wrong="own_graph"
# Shows: dear is too cheap: fewer than 8 operations run for it.
# Hint: Let a Python loop add operations to the road; the loop is over when the graph is built.
def my_graph():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x * x
        way = (cheap + 1).tanh()
        dear = way * 2
        (slope,) = mg.gradients(dear, [x])
    return {"x": x, "cheap": cheap, "way": way, "dear": dear, "slope": slope}


# %% wrong="own_graph"
# Shows: `way` is `dear` itself. It has to be a node inside, on the road to `dear`.
# Hint: Let something come after `way`, such as `dear = way * 2`.
def my_graph():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x * x
        way = cheap
        for _ in range(4):
            way = (way + 1).tanh()
        dear = way
        (slope,) = mg.gradients(dear, [x])
    return {"x": x, "cheap": cheap, "way": way, "dear": dear, "slope": slope}


# %% [markdown]
# ## What you have now
#
# A graph that is built once knows all that it could compute, and each run takes what it needs. What changes is fed,
# what stays is a variable, and what nobody asks for costs nothing.
#
# **Next**: [10 Control flow in graphs](../lessons/10_control_flow_in_graphs.ipynb).
