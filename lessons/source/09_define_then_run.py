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
#       placeholder: a leaf of a graph that has a type and a shape but no value; each run is told which value to take
#         for it
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
# In lesson 08 a network that reads names built 700 graphs in one epoch, of only ten shapes, and threw each of them
# away. Let us turn that round: write the graph down *first*, without any numbers, and then run it again and again. What
# can be done with a graph that is complete before the first name comes?
#
# Few people today build graphs by hand, as this lesson does, and yet such graphs are everywhere. A graph that is there
# before the run can *leave Python*: ONNX Runtime, on a telephone or a server, loads one from a file, and runs it with
# `session.run(["scores"], {"letters": …})`. The words of that line, a session, a run, what is wanted, what is fed, are
# the words of this lesson. Such a graph can be *split across several machines*, which is what TensorFlow was made for.
# It can be *compiled*, which is lesson 15.
#
# **About 45 minutes.** Afterwards you can
#
# - write a graph down with placeholders, and run it in a session with feeds and fetches;
# - predict which nodes a run computes, and check it by the engine's own count;
# - say where gradients, variables and updates live in such a graph, and train with it;
# - read the errors of this style, and name what it gains and what it costs.
#
# **Builds on** [08 A graph for each input](08_a_graph_for_each_input.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% slideshow={"slide_type": "skip"}
import re
import textwrap

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, in_turns, reveal
from minigrad.widgets import GraphView, StaticVsDynamic

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
# 4 + 10 + 18. The feed is a dictionary whose keys are nodes. x was fed with [1, 2, 3] a moment ago. What does
# `x.numpy()` give now?

# %%
Predict("what x holds", "What does x.numpy() give now?", options=["[0, 0, 0]", "[1, 2, 3]", "an error"])


# %%
def said(ask):
    """What `ask` gives; of an error its message."""
    try:
        return str(ask())
    except mg.errors.MinigradError as error:
        message = re.sub(r"at \S*ipykernel\S*:", "at line ", str(error))
        return f"{type(error).__name__}\n{textwrap.fill(message, 90)}"


print(said(x.numpy))
reveal("what x holds", "an error" if "Error" in said(x.numpy) else said(x.numpy))

# %% [markdown]
# Read it aloud: *x has no value; a session gives it one.* A placeholder never holds a value, not even after a run. What
# was fed belonged to that run, flowed through, and is gone; the graph is as empty as before. x is not a box that holds
# numbers. It is a name for a place.

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes up to here. Ask who expected [1, 2, 3], and what the drawing would have to show then. The comparison that
# helps: a placeholder is the x in f(x), not a variable of the program. Two threads may run one graph with two feeds.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Two times, side by side
#
# On the left, eager mode; on the right, the same lines build a static graph. Step through them: on the left numbers
# appear at once; on the right empty boxes appear, and values flow only when all lines are done.


# %%
def sum_of_products(x, y):
    products = x * y
    return products.sum()


StaticVsDynamic(sum_of_products, mg.tensor([1.0, 2.0, 3.0]), mg.tensor([4.0, 5.0, 6.0]))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What stays: variables
#
# Feeds are gone after a run, but the parameters of a network must stay. A **variable** is a leaf whose value lives in
# the session. Changing it is an operation, too, which does its work when it is *run*. So is giving it its first value,
# by its **initializer**.

# %%
with mg.Graph().as_default() as graph:
    w = mg.Variable(0.0, name="w")
    step = w.assign_add(1.0)

first, second = mg.Session(graph), mg.Session(graph)
print(said(lambda: first.run(w)))

# %% [markdown]
# Not yet: building the variable did not run its initializer. Now we run it in both sessions, then `step` three times in
# the first and once in the second. What is w in the second?

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
# ## The names, written down
#
# Now the network of lesson 08. Its weights are variables; each letter gets a placeholder, whose `None` leaves the
# number of names open. The longest name has twelve letters, so Python's `for` writes twelve letters down; and because
# any of them may be the last, there is an answer after each.

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def spelled(name):
    return [LETTERS.index(letter) for letter in name]


rng = np.random.default_rng(0)
shapes = {"E": (26, 24), "W": (24, 24), "V": (24, 7)}
with mg.Graph().as_default() as graph:
    E, W, V = weights = [mg.Variable(rng.normal(0, 0.2, shape), name=name) for name, shape in shapes.items()]
    letters = [mg.placeholder("int64", (None,), name=f"letter_{i}") for i in range(1, 13)]
    state, answers = mg.constant(np.zeros((1, 24)), name="start"), []
    for letter in letters:
        state = (E[letter] + state @ W).tanh()
        answers.append(state @ V)
print(len(graph.get_operations()), "nodes, and not one number computed")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A run takes what it needs
#
# Each letter has five operations: look up, multiply, add, bend, and the product with V for its answer. That makes 60.
# (The other nodes are placeholders, the state at the start, variables, and what gives these their first values.) *yui*
# has three letters, so we feed three, each as a list of one number, because there is one name; and we fetch the third
# answer. How many of the 60 run?

# %%
Predict("operations for yui", "How many of the 60 operations run when the third answer is fetched?")

# %%
session = mg.Session(graph)
session.run([weight.initializer for weight in weights])
yui = {place: [number] for place, number in zip(letters, spelled("yui"))}
print(session.run(answers[2], yui).round(2))
ran = [name for name in session.last_run.executed if name not in {"E", "W", "V", "start"}]
print(", ".join(ran))
reveal("operations for yui", len(ran))

# %%
mg.draw(answers[2])

# %% [markdown]
# The run follows the arrows backwards from what is fetched, and computes what it meets: three letters, and one answer.
# The rest of the graph is left alone, and needs no feed. This is called **pruning**. So *one* graph serves for all 700
# names: what took ten shapes in lesson 08 is ten fetches now.
#
# Back to the small graph from the beginning, with its products and their sum (`total.graph` is that graph). What if we
# feed a value for `products`, and none for x and y?

# %%
Predict("products fed", "What does the run give?", options=["3.0", "32.0", "an error: x is not fed"])

# %%
small = mg.Session(total.graph)
result = small.run(total, {products: [1, 1, 1]})
print(small.last_run)
reveal("products fed", str(result))

# %% [markdown]
# Any node may be fed, not only placeholders. What is fed is not computed, so what made it is not needed either, and the
# run is a single sum. That is how to look at a part of a large graph, or to replace it.
#
# And `careless` from lesson 08, where seven operations ran? Here it is, as a graph. The 2 and the 3 in it become
# constants: known when the graph is built, the same at every run. (`mg.constant`, as for the first state above, makes
# one of an array.)


# %%
def careless(x):
    left = (x * 2).exp()
    (x * 3).tanh()  # and it is dropped
    right = (x * 2).exp()
    return left + right


with mg.Graph().as_default() as whole:
    z = mg.placeholder("float64", (3,), name="z")
    result = careless(z)
one_run = mg.Session(whole)
one_run.run(result, {z: [1, 2, 3]})
print("operations built:", sum(bool(op.node.inputs) for op in whole.get_operations()))
print("that a run needs:", sum("Const" not in name for name in one_run.last_run.executed))

# %% [markdown]
# The tanh and its product were built, and never ran: two of the seven are saved, and we did not have to think of it.
# (The five that are left still say something twice. Finding that takes a search of its own: lesson 13.)

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Before the reveal, let them shade the nodes that are needed, from the fetch backwards. Whoever says 60
# thinks that the session runs the program from top to bottom; whoever says 15, that the answers on the way are computed
# too. Feeding an intermediate surprises most; ask what would happen if only x were fed.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Gradients are more nodes
#
# In eager mode `backward()` walked back over a graph full of values. Here there are none. So `mg.gradients` does the
# one thing it can: it writes the backward pass down as *more nodes of the same graph*.

# %%
with mg.Graph().as_default() as bend:
    x = mg.placeholder("float64", name="x")
    w = mg.placeholder("float64", name="w")
    loss = (w * x).tanh()
    before = len(bend.get_operations())
    (gw,) = mg.gradients(loss, [w])
print("nodes:", before, "and with the gradient", len(bend.get_operations()))
mg.draw(gw)

# %% [markdown]
# Forward and backward in one drawing. From left to right: the product, and its tanh, which is the loss. There the way
# back begins: 1, times 1 − loss × loss, the local slope of tanh, times x, the local slope of the product. (The 11th
# node leads on from the product to x. Nothing here needs it, and no run below computes it.) The way back *uses* the
# loss of the forward pass, and does not compute it again. There is no `.grad`, and nothing to clear: a gradient is a
# result like any other, there when it is fetched. If you want the loss alone, you pay for the loss alone. And since a
# gradient is made of nodes, it has a gradient itself:

# %% slideshow={"slide_type": "subslide"}
with bend.as_default():
    (curvature,) = mg.gradients(gw, [w])
small = mg.Session(bend)
for fetches in (loss, [loss, gw]):
    print(np.round(small.run(fetches, {x: 0.5, w: 1.0}), 6))
    print(small.last_run)

h = 1e-5
low, high = (small.run(gw, {x: 0.5, w: 1.0 + nudge}) for nudge in (-h, h))
print(f"its gradient, by nodes: {small.run(curvature, {x: 0.5, w: 1.0}):.6f}, by nudging: {(high - low) / (2 * h):.6f}")

# %% [markdown]
# Walk about in it. Each call of `mg.gradients` is a group; close the groups, and what is left is what you wrote
# yourself.

# %%
GraphView(bend)

# %% [markdown] slideshow={"slide_type": "notes"}
# 7 minutes. In the drawing, find the two arrows that leave the loss: the forward value is shared with the way back.
# Ask what has become of retain_graph and zero_grad (nothing is freed, nothing adds up).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Training, on one graph
#
# We open the graph of the names once more, and add a loss for each length. An optimizer does not take a step here: it
# adds the operations *of* a step to the graph, gradients first, and `minimize` gives the node that stands for all of
# them.

# %%
with graph.as_default():
    before = len(graph.get_operations())
    label = mg.placeholder("int64", (None,), name="label")
    optimizer = mg.optim.Adam(weights, lr=0.01)
    losses = {n: mg.cross_entropy(answers[n - 1], label) for n in range(3, 13)}
    steps = {n: optimizer.minimize(loss) for n, loss in losses.items()}
    start = mg.graph.global_variables_initializer()  # last, for the optimizer brings variables of its own
print(f"{before} nodes of ours, {len(graph.get_operations()):,} with ten losses, ten steps and the initializer")

# %% [markdown]
# All of it is there: forward passes, gradients, updates. All that is left for Python is to say which names go in. Names
# of one length can share a run, ten at a time (eagerly, they could have shared a graph, too).


# %%
def of_one_length(pairs, most=10):
    groups = {}
    for pair in pairs:
        groups.setdefault(len(pair[0]), []).append(pair)
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]


def feed(pairs):
    columns = map(list, zip(*(spelled(name) for name, _ in pairs)))
    return dict(zip(letters, columns)) | {label: [which for _, which in pairs]}


def right(pairs):
    found = session.run(answers[len(pairs[0][0]) - 1], feed(pairs)).argmax(1)
    return sum(found == [which for _, which in pairs])


# %% slideshow={"slide_type": "subslide"}
nodes, unseen = len(graph.get_operations()), of_one_length(names.test)
session.run(start)
for epoch in range(4):
    groups = of_one_length([names.train[i] for i in rng.permutation(700)])
    found = []
    for i in rng.permutation(len(groups)):
        n = len(groups[i][0][0])
        found.append(session.run([losses[n], steps[n]], feed(groups[i]))[0])
    print(f"epoch {epoch}: {len(found)} runs, mean loss {np.mean(found):.2f}")
print("names it never saw, more than half right:", sum(map(right, unseen)) > len(names.test) / 2)
print("nodes built by these runs:", len(graph.get_operations()) - nodes)

# %% [markdown]
# Not one node more than before; in lesson 08 each epoch built 700 graphs. And the same graph, fed a name and asked for
# nine of its answers, says in *one* run what it believes after each letter; losses and steps are pruned.

# %% tags=["nbval-ignore-output"]
name = "katarzyna"
beliefs = session.run(answers[: len(name)], {place: [number] for place, number in zip(letters, spelled(name))})
for length, belief in enumerate(beliefs, 1):
    print(f"{name[:length]:10} {names.languages[belief.argmax()]}")

# %% [markdown]
# There is one thing it cannot do. *Oluwatobiloba* has thirteen letters, and this graph ends after twelve: Python's
# `for` had come to its end when the graph was built. Lesson 10 begins there.

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Let them say which nodes `session.run(answers[2], …)` needs, and why `label` need not be fed. If somebody
# forgets to run `start`, the error from above comes back: that is worth doing on purpose. Names of up to twelve letters
# from the room are worth a try.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What goes wrong here
#
# Here are four mistakes that this style invites, and what the engine says about them. Before you run the cell, guess
# for each: does it come up when the graph is built, or when it runs?

# %% tags=["nbval-ignore-output"]
with mg.Graph().as_default():
    stranger = mg.placeholder("float64", (3,), name="stranger")
    wide = mg.placeholder("float64", (2, 3), name="wide")

yu = {place: [number] for place, number in zip(letters, spelled("yu"))}
print("1.", said(lambda: session.run(answers[2], yu)), "\n")
print("2.", said(lambda: session.run(answers[2], yui | {letters[0]: [[24]]})), "\n")
print("3.", said(lambda: session.run(stranger, {stranger: [1, 2, 3]})), "\n")
print("4.", said(lambda: wide @ wide))

# %% [markdown]
# A letter that was not fed, a wrong shape, a node of another graph: these three come up when it *runs*, and the first
# and third name the line that *built* the node, which may be far from the line that ran it. (TensorFlow's words for the
# first are `You must feed a value for placeholder tensor 'letter_3' with dtype int64`. `batch` is the number that
# `None` left open.) The fourth comes up when it is *built*: the lengths in a product of (2, 3) and (2, 3) do not match,
# and no number is needed to see that.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Here is a loop that works, but its graph grows for as long as it runs. Where does it build nodes?

# %%
sizes = []
ten = [pair for pair in names.train if len(pair[0]) == 5][:10]
for rate in (0.5, 0.6, 0.7, 0.8):
    penalty = rate * (W * W).sum()
    session.run(losses[5] + penalty, feed(ten))
    sizes.append(len(graph.get_operations()))
print("nodes in the graph:", sizes)
graph.finalize()
print(said(lambda: losses[5] + 0.5 * (W * W).sum()))

# %% [markdown]
# In every round: `*` and `+` on nodes make nodes, even outside the `with` block, and the graph never forgets one.
# Besides, each round asks for a node that was never asked for before; what that costs comes next. The rate should have
# been a placeholder, built once and fed four times. `finalize` closes a graph that is complete; from then on the
# mistake is reported, as in the last lines.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs, and what it brings
#
# We time a step with ten names of five letters, in a session and in eager mode, on your machine. The first run of its
# kind in a session, here one with a number of names that has not come up before, also works out a plan, which later
# runs use again. (The three take turns, for several rounds. Where the rounds disagree the line says *somewhere
# between*: this run cannot tell.)

# %% tags=["measured", "nbval-ignore-output"]
tensors = [mg.tensor(value, requires_grad=True) for value in session.run(weights)]
eager_optimizer = mg.optim.Adam(tensors, lr=0.01)
five, fed = [pair for pair in names.train if len(pair[0]) == 5], feed(ten)
more = iter(range(11, len(five)))  # numbers of names for which there is no plan yet


def eager():
    E, W, V = tensors
    state = mg.zeros(1, 24)
    for place in letters[:5]:
        state = (E[fed[place]] + state @ W).tanh()
    eager_optimizer.zero_grad()
    mg.cross_entropy(state @ V, fed[label]).backward()
    eager_optimizer.step()


def first_run():
    session.run([losses[5], steps[5]], feed(five[: next(more)]))


times = in_turns(eager=eager, in_session=lambda: session.run([losses[5], steps[5]], fed), first_run=first_run)
print(f"an eager step takes {times['eager'] / times['in_session']:.1f} times as long as one in a session")
print(f"the first run of its kind takes {times['first_run'] / times['in_session']:.0f} times as long as a later one")

# %% [markdown]
# On most machines the eager step takes more than twice as long: with arrays this small, overhead is most of it, and the
# session pays it once. The first run takes much longer than a later one. So defining first pays where the same graph
# runs many times, and not where every input needs a different one.
#
# | | eager: define by run | static: define, then run |
# |---|---|---|
# | the graph | is built anew by each run | is built once |
# | values | are there at once: `print` them | are there in a run: fetch them |
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
# placeholders: they get a whole graph by watching a function as it runs, which is lesson 11. A graph that came from any
# of them can be run by ONNX Runtime, whose sessions take fetches and feeds by name, as in the line at the top.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Building is not running. A placeholder has a shape and never a value; each run is told what to take for it.
# - A run computes what its fetches need, up to what is fed, and nothing else.
# - Gradients are more nodes, and an optimizer's step is more nodes still. They share what the forward pass computes.
# - Variables live in a session. The graph is the recipe; two sessions are two kitchens.
# - Built once, run often: one graph for 700 names, and the overhead of building is paid once. But a loop that builds
#   makes the graph grow, and the thirteenth letter has no place in it.
#
# **Sources.** M. Abadi and others, *TensorFlow: large-scale machine learning on heterogeneous distributed systems*,
# arXiv:1603.04467 (2015), section 2 for graph, session and variables, 4.1 for gradients as nodes, 4.2 for feeds,
# fetches and what a run leaves out. J. Bergstra and others, *Theano: a CPU and GPU math compiler in Python*, SciPy
# 2010: an earlier system, in which graphs are written down first, in Python.
#
# **Exercise.** [09 Build once, run often](../exercises/09_build_once_run_often.ipynb): graphs that do no more than
# they must.
#
# **Next:** [10 Control flow in graphs](10_control_flow_in_graphs.ipynb): an `if` and a loop that are there when it
# runs.
