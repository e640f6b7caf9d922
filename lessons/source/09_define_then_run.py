# ---
# jupyter:
#   minigrad:
#     title: Define, then run
#     minutes: 45
#     objectives:
#       - write a graph down with placeholders, and run it in a session with feeds and fetches
#       - predict which nodes a run computes, and check it by the engine's own count
#       - say where gradients, variables and updates live in such a graph, and train with it
#       - read the errors of this style, and name what it gains and what it costs
#     concepts: [C1, C2, C3, C4]
#     builds_on: [08_a_graph_for_each_input]
#     widgets: [StaticVsDynamic, GraphView, Predict, Quiz]
#     terms:
#       define then run: to write the whole graph down before any value is in it, and to run it afterwards, as often as
#         one likes
#       static graph: a graph that is built before it is run, and stays the same from run to run
#       placeholder: a leaf of a graph that has a type and a shape and no value; each run is told what to take for it
#       session: what runs a graph, and remembers what its variables hold from run to run
#       fetch: what a run is asked for
#       feed: what a run is told to take for a node
#       pruning: to leave out of a run every node that no fetch depends on
#       variable: a leaf of a graph whose value stays in the session from run to run, until an operation assigns another
#       initializer: the operation that gives a variable its first value
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 09 Define, then run
#
# In lesson 08 each operation ran before Python had read the next line, so the whole was never seen. Let us turn it
# round: write the graph down first, and compute nothing. What can be done with a graph that is complete, and has no
# numbers in it?
#
# **About 45 minutes.** Afterwards you can
#
# - write a graph down with placeholders, and run it in a session with feeds and fetches;
# - predict which nodes a run computes, and check it by the engine's own count;
# - say where gradients, variables and updates live in such a graph, and train with it;
# - read the errors of this style, and name what it gains and what it costs.
#
# **Builds on** [08 A graph for each input](08_a_graph_for_each_input.ipynb).

# %% slideshow={"slide_type": "skip"}
import re
import textwrap

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.course.plots import follow_theme
from minigrad.widgets import GraphView, StaticVsDynamic

BLUE, VERMILION = "#0072B2", "#D55E00"
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Building
#
# To **define then run** is to build a **static graph**: first the whole graph, then the runs. Eager mode is like
# Python's prompt, where every line is answered at once; a static graph is like a script, which is written to its end
# before it runs. For that we need leaves without values. A **placeholder** says, for example: three numbers will come
# in here. Inside the block `with graph.as_default()`, every operation becomes a node of this graph.

# %%
graph = mg.Graph()
with graph.as_default():
    x = mg.placeholder("float64", (3,), name="x")
    y = mg.placeholder("float64", (3,), name="y")
    products = x * y
    total = products.sum()
mg.draw(total)

# %% [markdown]
# A dot is a number that has not been computed yet: you know it from lesson 00. Here there are only dots, and yet the
# shapes are known: three numbers times three numbers are three numbers, and their sum is one. Nothing has been
# multiplied.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ## Running
#
# A **session** runs the graph. We say what we want, the **fetch**, and what to take for the placeholders, the
# **feed**:

# %%
session = mg.Session(graph)
print(session.run(total, {x: [1, 2, 3], y: [4, 5, 6]}))

# %% [markdown]
# 4 + 10 + 18. The feed is a dictionary whose keys are nodes. Again, with other numbers, and two fetches:

# %%
print(*session.run([products, total], {x: [1, 1, 1], y: [4, 5, 6]}))

# %% [markdown]
# x was fed with [1, 1, 1] a moment ago. What does `x.numpy()` give now?

# %%
Predict("what x holds", "What does x.numpy() give now?", options=["[0, 0, 0]", "[1, 1, 1]", "an error"])


# %%
def said(ask):
    """What `ask` gives; of an error its message."""
    try:
        return str(ask())
    except mg.errors.MinigradError as error:
        message = re.sub(r"at \S*ipykernel\S*:", "at line ", str(error))
        return f"{type(error).__name__}\n{textwrap.fill(message, 90)}"


print(said(x.numpy))

# %%
reveal("what x holds", "an error" if "Error" in said(x.numpy) else said(x.numpy))

# %% [markdown]
# Read it aloud: *x has no value; a session gives it one.* A placeholder never holds a value, not even after a run. What
# was fed belonged to that run, flowed through, and is gone; the graph is as empty as before. x is not a box that holds
# a number. It is a name for a place.

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes up to here. Ask who expected [1, 1, 1], and what the drawing would have to show then. The comparison that
# helps: a placeholder is the x in f(x), not a variable of the program. Two threads may run one graph with two feeds.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Two times, side by side
#
# Left, eager; right, the same lines build a static graph. Step: on the left numbers appear at once, on the right empty
# boxes. On the right, values flow only when all lines are done.


# %%
def sum_of_products(x, y):
    products = x * y
    return products.sum()


StaticVsDynamic(sum_of_products, mg.tensor([1.0, 2.0, 3.0]), mg.tensor([4.0, 5.0, 6.0]))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A run takes what it needs
#
# We add a second result to the graph: how far x is from y. As text, a graph has a line for each node: its name, the
# operation, the nodes it reads, and the shape of the result. Two leaves, five operations. Then we ask for `total`. How
# many of the five run?

# %%
with graph.as_default():
    distance = (x - y).square().mean()
print(graph.as_text())

# %%
Predict("nodes that run", "How many of the five operations run when total is fetched?")

# %%
numbers = {x: [1, 2, 3], y: [4, 5, 6]}
session.run(total, numbers)
print(session.last_run)
reveal("nodes that run", len(session.last_run.executed))

# %% [markdown]
# The run follows the arrows backwards from what is fetched, and computes what it meets: a product and a sum. The rest
# of the graph is left alone. This is called **pruning**. Fetch both, and all five run, each once:

# %%
print(*session.run([total, distance], numbers))
print(session.last_run)

# %% [markdown] slideshow={"slide_type": "subslide"}
# What if we give a value for `products`, and none for x and y?

# %%
Predict("products fed", "What does the run give?", options=["3.0", "32.0", "an error: x is not fed"])

# %%
result = session.run(total, {products: [1, 1, 1]})
print(session.last_run)
reveal("products fed", str(result))

# %% [markdown]
# Any node may be fed, not only placeholders. What is fed is not computed, so what made it is not needed either, and the
# run is a single sum. That is how to look at a part of a large graph, or to replace it.
#
# And `careless` from lesson 08, where seven operations ran? Here it is, as a graph. The 2 and the 3 in it become
# constants: known when the graph is built, the same at every run. (`mg.constant` makes one of an array.)


# %%
def careless(x):
    left = (x * 2).exp()
    (x * 3).tanh()  # and it is dropped
    right = (x * 2).exp()
    return left + right


with mg.Graph().as_default() as small:
    z = mg.placeholder("float64", (3,), name="z")
    result = careless(z)
one_run = mg.Session(small)
one_run.run(result, {z: [1, 2, 3]})
print("operations built:", sum(bool(op.node.inputs) for op in small.get_operations()))
print("that a run needs:", sum("Const" not in name for name in one_run.last_run.executed))

# %% [markdown]
# The tanh and its product were built, and never run: two of the seven are saved, and nobody had to think of it. (It can
# also be seen that the other five say something twice: lesson 13.)

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Before the reveal, let them shade the nodes that are needed, from the fetch backwards. The wrong idea to
# meet is that a session runs the program from top to bottom. Feeding an intermediate surprises most; ask what would
# happen if only x were fed.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Gradients are more nodes
#
# In eager mode `backward()` walked back over a graph full of values. Here there are none. So `mg.gradients` does the
# one thing it can: it writes the backward pass down as *more nodes of the same graph*.

# %%
with mg.Graph().as_default() as graph:
    x = mg.placeholder("float64", name="x")
    w = mg.placeholder("float64", name="w")
    loss = (w * x).tanh()
    before = len(graph.get_operations())
    (gw,) = mg.gradients(loss, [w])
print("nodes:", before, "and with the gradient", len(graph.get_operations()))
mg.draw(gw)

# %% [markdown]
# Forward and backward in one drawing. From left to right: the product, and its tanh, which is the loss. There the way
# back begins: 1, times 1 − loss × loss, the local slope of tanh, times x, the local slope of the product. (The 11th
# node leads on from the product to x. Nothing here needs it, and no run below computes it.) The way back *uses* the
# loss of the forward pass, and does not compute it again. There is no `.grad`, and nothing to clear: a gradient is a
# result like any other, there when it is fetched.

# %% slideshow={"slide_type": "subslide"}
session = mg.Session(graph)
for fetches in (loss, [loss, gw]):
    print(np.round(session.run(fetches, {x: 0.5, w: 1.0}), 6))
    print(session.last_run)

# %% [markdown]
# If you want the loss alone, you pay for the loss alone. And since a gradient is made of nodes, it has a gradient
# itself:

# %%
with graph.as_default():
    (curvature,) = mg.gradients(gw, [w])
h = 1e-5
low, high = (session.run(gw, {x: 0.5, w: 1.0 + nudge}) for nudge in (-h, h))
print(f"by nodes: {session.run(curvature, {x: 0.5, w: 1.0}):.6f}, by nudging: {(high - low) / (2 * h):.6f}")

# %% [markdown]
# Walk about in it. Each call of `mg.gradients` is a group; close the groups, and what is left is what you wrote
# yourself.

# %%
GraphView(graph)

# %% [markdown] slideshow={"slide_type": "notes"}
# 7 minutes. In the drawing, find the two arrows that leave the loss: the forward value is shared with the way back.
# Ask what has become of retain_graph and zero_grad (nothing is freed, nothing adds up).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What stays: variables
#
# Feeds are gone after a run, but parameters must stay. A **variable** is a leaf whose value lives in the session.
# Changing it is an operation, too, which does its work when it is *run*; so is giving it its first value, by its
# **initializer**.

# %%
with mg.Graph().as_default() as graph:
    w = mg.Variable(0.0, name="w")
    step = w.assign_add(1.0)

first, second = mg.Session(graph), mg.Session(graph)
print(said(lambda: first.run(w)))

# %% [markdown]
# Not yet: building the variable was not running its initializer. Now we run it in both sessions, then `step` three
# times in the first and once in the second. What is w in the second?

# %%
Predict("w in the second", "What is w in the second session?")

# %%
for each in (first, second):
    each.run(w.initializer)
for _ in range(3):
    first.run(step)
second.run(step)
print("w in the first session:", first.run(w))
reveal("w in the second", second.run(w))

# %% [markdown]
# One graph, two sessions, two values. The graph is the recipe, and holds no state; each session has a kitchen of its
# own.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Training
#
# The two moons of lesson 03. `None` in a shape leaves the number of points open. The optimizer does not take a step:
# it adds the operations *of* a step to the graph, gradients first, and `train` is the node that stands for all of
# them.

# %%
points, labels = mg.data.moons(100, noise=0.1, seed=0)
rng = np.random.default_rng(0)
with mg.Graph().as_default() as graph:
    x = mg.placeholder("float64", (None, 2), name="x")
    side = mg.placeholder("float64", (None,), name="side")  # 1 for the lower moon, -1 for the upper
    W = mg.Variable(rng.normal(0, 1, (2, 8)), name="W")
    b = mg.Variable(np.zeros(8), name="b")
    v = mg.Variable(rng.normal(0, 1, (8, 1)), name="v")
    score = ((x @ W + b).tanh() @ v).reshape(-1)
    loss = (1 + (-side * score).exp()).log().mean()
    right = (score * side > 0).sum()
    written = len(graph.get_operations())
    train = mg.optim.SGD([W, b, v], lr=1.0).minimize(loss)
    start = mg.graph.global_variables_initializer()  # last, for the optimizer brings variables of its own
print(f"{written} nodes by hand, {len(graph.get_operations())} with the step and the initializer")

# %% [markdown]
# All of it is there, the forward pass, the gradients, the update. What is left for Python is one line, 300 times:

# %% slideshow={"slide_type": "subslide"}
session = mg.Session(graph)
session.run(start)
moons = {x: points, side: 2.0 * labels - 1}
curve = [session.run([loss, train], moons)[0] for _ in range(300)]
print(f"loss: {curve[0]:.2f} at first, {curve[-1]:.2f} at last")
print("more than 90 of 100 right:", session.run(right, moons) > 90)
print("nodes in the graph:", len(graph.get_operations()))

# %% [markdown]
# Not one node more than before. In eager mode 300 steps would have built 300 graphs. And the same graph, fed other
# points and asked for the score alone, draws the boundary; the loss and the step are pruned.

# %%
x0, x1 = np.meshgrid(np.linspace(-1.5, 2.5, 81), np.linspace(-1, 1.5, 51))
plane = session.run(score, {x: np.stack([x0.ravel(), x1.ravel()], axis=1)}).reshape(x0.shape)
fig, (left, ax) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(curve, color=BLUE)
left.set(xlabel="run", ylabel="loss", ylim=0, title="The loss falls")
ax.contourf(x0, x1, plane, levels=[-1e9, 0, 1e9], colors=[BLUE, VERMILION], alpha=0.25)
for label, name, colour, marker in ((0, "upper moon", BLUE, "o"), (1, "lower moon", VERMILION, "s")):
    ax.plot(*points[labels == label].T, marker, color=colour, markeredgecolor="white", label=name)
ax.set(xlabel="first coordinate", ylabel="second coordinate", title="The boundary")
ax.legend()
plt.show()

# %% [markdown]
# *The plots: on the left the loss, which falls steeply and then slowly. On the right the two moons, and a curved
# boundary between them.*

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Let them say which nodes `session.run(score, …)` needs, and why `side` need not be fed. If somebody
# forgets to run `start`, the error from above comes back: that is worth doing on purpose.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What goes wrong here
#
# Three mistakes that this style invites, and what the engine says. Before you run the cell, guess for each: does it
# come up when the graph is built, or when it runs?

# %% tags=["nbval-ignore-output"]
with mg.Graph().as_default():
    stranger = mg.placeholder("float64", (3,), name="stranger")

print("1.", said(lambda: session.run(loss, {x: points})), "\n")
print("2.", said(lambda: session.run(score, {x: [1.0, 2.0]})), "\n")
print("3.", said(lambda: session.run(stranger, {stranger: [1, 2, 3]})))

# %% [markdown]
# An unfed placeholder, a wrong shape, a node of another graph. All three come when it *runs*, and the first and third
# name the line that *built* the node, which may be far from the line that ran it. (`batch` is the number that `None`
# left open.) What is known when building, is said when building: the two lengths in the product below do not fit, and
# no number was needed to see it.

# %%
with mg.Graph().as_default():
    a = mg.placeholder("float64", (2, 3), name="a")
    print(said(lambda: a @ a))

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Here is a loop that works, and whose graph grows for as long as it runs. Where does it build?

# %%
sizes = []
for rate in (0.5, 0.6, 0.7, 0.8):
    penalty = rate * (W * W).sum()
    session.run(loss + penalty, moons)
    sizes.append(len(graph.get_operations()))
print("nodes in the graph:", sizes)

# %% [markdown]
# In each round: `*` and `+` on nodes make nodes, also outside the block, and the graph never forgets one. And each
# round asks for a node that was never asked for: what that costs comes next. The rate should have been a placeholder,
# built once and fed four times. If the graph is closed as soon as it is complete, the mistake is reported:

# %%
graph.finalize()
print(said(lambda: loss + 0.5 * (W * W).sum()))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs, and what it brings
#
# A step in a session and the same step in eager mode, on your machine. A session's first run with so many points also
# works out its plan, which later runs find again. (The three take turns, for several rounds. Where the rounds
# disagree the line says *somewhere between*: this run cannot tell.)

# %%
from minigrad.course.stopwatch import in_turns

tensors = [mg.tensor(value, requires_grad=True) for value in session.run([W, b, v])]
optimizer = mg.optim.SGD(tensors, lr=1.0)
data, sides = mg.tensor(points), mg.tensor(2.0 * labels - 1)


def eager():
    W, b, v = tensors
    score = ((data @ W + b).tanh() @ v).reshape(-1)
    optimizer.zero_grad()
    (1 + (-sides * score).exp()).log().mean().backward()
    optimizer.step()


# %% tags=["measured", "nbval-ignore-output"]
def in_session():
    session.run([loss, train], moons)


lengths = iter(range(2, 101))  # each a number of points for which there is no plan yet


def first_run():
    n = next(lengths)
    session.run([loss, train], {x: points[:n], side: 2.0 * labels[:n] - 1})


times = in_turns(eager=eager, in_session=in_session, first_run=first_run)
print(f"an eager step takes {times['eager'] / times['in_session']:.1f} times as long as one in a session")
print(f"the first run of its kind takes {times['first_run'] / times['in_session']:.0f} times as long as a later one")

# %% [markdown]
# On most machines the eager step takes more than twice as long: with arrays this small, overhead is most of it, and
# the session pays it once. The first run takes much longer than a later one. So defining first pays where the same
# graph runs many times, and not where every input needs another one.
#
# | | eager: define by run | static: define, then run |
# |---|---|---|
# | the graph | is built anew by each run | is built once |
# | values | are there at once, `print` them | are there in a run: fetch them |
# | control flow | is Python's | Python's is over when the graph is built: lesson 10 |
# | a mistake | stops at its line | may stop at a run, far from its line |
# | what is not needed | is computed | is pruned |

# %% [markdown] slideshow={"slide_type": "notes"}
# 5 minutes. Cover the right column of the table and let the room fill it in. The question to end with: what would an
# `if` on a placeholder do? It raises the error of x.numpy(), and lesson 10 begins there.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory, and lock each answer.

# %% slideshow={"slide_type": "skip"}
Quiz("09_define_then_run")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | TensorFlow 1 | PyTorch | JAX |
# |---|---|---|---|
# | `mg.placeholder("float64", (3,))` | `tf.placeholder(tf.float64, (3,))` | an argument | an argument |
# | `mg.Session(graph)` | `tf.Session(graph=graph)` | none: it runs at once | none: one calls the function |
# | `session.run(y, {x: a})` | `sess.run(y, {x: a})` | `f(a)` | `jax.jit(f)(a)` |
# | `w = mg.Variable(0.0)`, `w.initializer` | `w = tf.Variable(0.0)`, the same | a leaf | an argument |
# | `mg.gradients(y, [x])` | `tf.gradients(y, [x])` | `torch.autograd.grad(y, [x])` | `jax.grad(f)` |
# | `SGD([w], lr).minimize(loss)` | `GradientDescentOptimizer(lr).minimize(loss)` | `optimizer.step()` | Optax |
#
# In TensorFlow 2 these names are in `tf.compat.v1`; the optimizer was in `tf.train`. PyTorch and JAX have no
# placeholders: they come to a whole graph by looking on while a function runs, which is lesson 11.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Building is not running. A placeholder has a shape and never a value; each run is told what to take for it.
# - A run computes what its fetches need, up to what is fed, and nothing else.
# - Gradients are more nodes, and an optimizer's step is more nodes still. They share what the forward pass computes.
# - Variables live in a session. The graph is the recipe; two sessions are two kitchens.
# - Built once, run often: the overhead is paid once. But a loop that builds makes the graph grow.
#
# **Sources.** M. Abadi and others, *TensorFlow: large-scale machine learning on heterogeneous distributed systems*,
# arXiv:1603.04467 (2015), section 2 for graph, session and variables, 4.1 for gradients as nodes, 4.2 for feeds,
# fetches and what a run leaves out. J. Bergstra and others, *Theano: a CPU and GPU math compiler in Python*, SciPy
# 2010: graphs that are written down first, in Python, before that.
#
# **Exercise.** [09 Build once, run often](../exercises/09_build_once_run_often.ipynb): graphs that do no more than
# they must.
#
# **Next:** [10 Control flow in graphs](10_control_flow_in_graphs.ipynb): an `if` and a loop that are there when it
# runs.
