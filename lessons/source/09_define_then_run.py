# ---
# jupyter:
#   minigrad:
#     title: Define, then run
#     minutes: 50
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
#         you like
#       static graph: a graph that is built before it is run, and stays the same from run to run
#       placeholder: a leaf of a graph that has a type and a shape but no value; each run is given a value for it
#       session: the object that runs a graph, and stores the values of its variables from run to run
#       fetch: a node whose value a run is asked for
#       feed: the values that a run is given for some of the nodes
#       pruning: leaving out of a run every node that no fetch depends on
#       variable: a leaf of a graph whose value stays in the session from run to run, until an operation changes it
#       initializer: the operation that gives a variable its first value
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 09 Define, then run
#
# It is 2016, and you write your first program in TensorFlow. It adds 1 and 2, and prints the result:
#
# > Tensor("add:0", shape=(), dtype=int32)
#
# There is no 3 anywhere. You have not added two numbers, you have *written down* that two numbers are to be added. The
# adding comes later, when you ask for it. Why would anyone build it like this?
#
# Take the network from lesson 08 that reads names. Python built 700 graphs in one epoch, of only ten shapes, and threw
# each of them away. Write the graph down *first*, without any numbers, and you can use it 700 times. You can also take
# it away from Python: on a phone, ONNX Runtime loads such a graph from a file and runs it with `session.run(["scores"],
# {"letters": …})`. You can split it across machines, which is what TensorFlow was made for, or compile it (lesson 15).
# **What can you do with a graph that is complete before the first name arrives?**
#
# **About 50 minutes.** Afterwards you can
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
from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, in_turns, reveal
from minigrad.widgets import GraphView, StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Building
#
# Eager mode is like Python's prompt, which answers every line at once. A **static graph** is like a script, which you
# write to the end before you run it. Working with such a graph is called **define then run**.
#
# A script has inputs. The input of a graph is a **placeholder**. It says, for example, that three numbers will come in
# here. Inside the block `with graph.as_default()`, every operation becomes a node of the graph.

# %%
graph = mg.Graph()
with graph.as_default():
    x = mg.placeholder("float64", (3,), name="x")
    y = mg.placeholder("float64", (3,), name="y")
    products = x * y
    total = products.sum()
mg.draw(total)

# %% [markdown]
# A dot is a number that has not been computed yet. Here there are only dots: nothing has been multiplied. And yet the
# graph knows its shapes. Three numbers times three numbers are three numbers, and their sum is one.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ## Running
#
# A **session** runs the graph. We tell it which node we want, the **fetch**, and which values to use for the
# placeholders, the **feed**:

# %%
session = mg.Session(graph)
print(session.run(total, {x: [1, 2, 3], y: [4, 5, 6]}))

# %% [markdown]
# 4 + 10 + 18 = 32. The feed is a dictionary, and its keys are nodes. We have just fed x with [1, 2, 3]. What does
# `x.numpy()` give now?

# %%
Predict("what x holds", "What does x.numpy() give now?", options=["[0, 0, 0]", "[1, 2, 3]", "an error"])


# %%
def outcome(call):
    """Call a function and return its result as text, or the message of its error."""
    try:
        return str(call())
    except mg.errors.MinigradError as error:
        message = re.sub(r"at \S*ipykernel\S*:", "at line ", str(error))
        return f"{type(error).__name__}\n{textwrap.fill(message, 90)}"


reveal("what x holds", "an error" if "Error" in outcome(x.numpy) else outcome(x.numpy))

# %%
print(outcome(x.numpy))

# %% [markdown]
# Read it aloud: *x has no value; a session gives it one.* A placeholder never holds a value, not even after a run. The
# numbers that we fed belonged to that run; they flowed through and are gone, and the graph is as empty as before. x is
# not a box for numbers. It is the name of a place.

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes up to here. Ask who expected [1, 2, 3], and what the drawing would have to show then. A comparison that
# helps: a placeholder is the x in f(x), not a variable of the program. Two threads may run the same graph with two
# feeds.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Two times, side by side
#
# On the left, eager mode; on the right, the same lines build a static graph. Step through them. On the left, numbers
# appear at once. On the right, empty boxes appear, and values flow only after the last line.


# %%
def sum_of_products(x, y):
    products = x * y
    return products.sum()


StaticVsDynamic(sum_of_products, mg.tensor([1.0, 2.0, 3.0]), mg.tensor([4.0, 5.0, 6.0]))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What stays: variables
#
# Feeds are gone after a run, but the parameters of a network must stay. A **variable** is a leaf whose value lives in
# the session. To change it, you build an operation, and the change happens when that operation is *run*. Even its first
# value comes from such an operation, its **initializer**.

# %%
with mg.Graph().as_default() as graph:
    w = mg.Variable(0.0, name="w")
    step = w.assign_add(1.0)

session_a, session_b = mg.Session(graph), mg.Session(graph)
print(outcome(lambda: session_a.run(w)))

# %% [markdown]
# Building the variable did not run its initializer, so w has no value yet. Now we run the initializer in both sessions,
# then `step` three times in A and once in B. What is w in B?

# %%
Predict("w in B", "What is w in session B?")

# %%
for session in (session_a, session_b):
    session.run(w.initializer)
for _ in range(3):
    session_a.run(step)
session_b.run(step)
display(reveal("w in B", session_b.run(w)))
print("w in session A:", session_a.run(w), " w in session B:", session_b.run(w))

# %% [markdown]
# We have one graph, two sessions and two values. The graph is a recipe, which never changes however often you cook.
# Each session is a kitchen with its own pots.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The names, written down
#
# Now we write down the network of lesson 08. Its weights are variables. Each letter gets a placeholder, and the
# `None` in its shape leaves the number of names open. The longest name in our data has twelve letters, so Python's
# `for` writes down twelve letters. Any of them may be a name's last, so there is an answer after each.

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
# ## What does a run compute?
#
# Each letter has five operations: look up, multiply, add, bend (tanh), and the product with V for its answer. Twelve
# letters make 60. (The other nodes are placeholders, variables with their first values, and the state at the start.)
#
# *yui* has three letters, so we feed three placeholders and fetch the third answer. Each letter goes in as a list of
# one number, because we feed one name. How many of the 60 operations run?

# %%
Predict("operations for yui", "How many of the 60 operations run when the third answer is fetched?")

# %%
session = mg.Session(graph)
session.run([weight.initializer for weight in weights])
yui = {place: [number] for place, number in zip(letters, spelled("yui"))}
third_answer = session.run(answers[2], yui)
operations = [name for name in session.last_run.executed if name not in {"E", "W", "V", "start"}]
reveal("operations for yui", len(operations))

# %%
print(third_answer.round(2))
print(", ".join(operations))
mg.draw(answers[2])

# %% [markdown]
# The run starts at the fetch, follows the arrows backwards, and computes what it meets: four operations for each of
# three letters, and one answer. The answers after the first and the second letter are not on the way, so they do not
# run. The other nine letters are left alone too, and need no feed. This is **pruning**.
#
# Now *one* graph is enough for all 700 names. The ten shapes of lesson 08 have become ten fetches.
#
# ### Feeding a node inside
#
# Go back to the small graph from the beginning, with its products and their sum (`total.graph` is that graph). This
# time we feed [1, 1, 1] for `products`, and nothing for x and y. What does the run give for `total`?

# %%
Predict("products fed", "What does the run give for total?", options=["3.0", "32.0", "an error: x is not fed"])

# %%
small = mg.Session(total.graph)
result = small.run(total, {products: [1, 1, 1]})
reveal("products fed", str(result))

# %%
print(small.last_run)

# %% [markdown]
# You may feed any node, not only a placeholder. A node that is fed is not computed, so nothing before it is needed:
# this run is a single sum. This is how you test a part of a large graph, or replace it.
#
# ### Pruning at work
#
# And what about `careless` from lesson 08, which ran seven operations? Here it is as a graph. The 2 and the 3 become
# constants: they are known when the graph is built, and the same in every run.


# %%
def careless(x):
    left = (x * 2).exp()
    (x * 3).tanh()  # nobody uses the result
    right = (x * 2).exp()
    return left + right


with mg.Graph().as_default() as careless_graph:
    z = mg.placeholder("float64", (3,), name="z")
    result = careless(z)
careless_session = mg.Session(careless_graph)
careless_session.run(result, {z: [1, 2, 3]})
print("operations built:", sum(bool(op.node.inputs) for op in careless_graph.get_operations()))
print("that a run needs:", sum("Const" not in name for name in careless_session.last_run.executed))

# %% [markdown]
# The tanh and its product were built, and never ran. Pruning saved two of the seven operations without being asked.
# (The five that are left still compute `(x * 2).exp()` twice. Finding that takes a search of its own: lesson 13.)

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Before the reveal, let them shade the nodes that are needed, from the fetch backwards. If you hear 60, the
# session is thought to run the program from top to bottom; if you hear 15, it is thought to compute the earlier answers
# too. Feeding an intermediate node surprises most; ask what would happen if only x were fed.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Gradients are more nodes
#
# In eager mode, `backward()` walked back over a graph full of values. This graph has none. So `mg.gradients` does the
# only thing that it can do: it writes the backward pass down as *more nodes of the same graph*.

# %%
with mg.Graph().as_default() as bend:
    x = mg.placeholder("float64", name="x")
    w = mg.placeholder("float64", name="w")
    loss = (w * x).tanh()
    nodes_before = len(bend.get_operations())
    (gw,) = mg.gradients(loss, [w])
print("nodes:", nodes_before, "and with the gradient", len(bend.get_operations()))
mg.draw(gw)

# %% [markdown]
# Forward and backward are in one drawing. Read it from left to right. First comes the product, then its tanh, which is
# the loss. There the way back begins, with a 1. It is multiplied by 1 − loss × loss, the slope of tanh, and then by x,
# the slope of the product towards w. (The 11th node is the gradient of x. Nothing here asks for it, so no run below
# computes it.)
#
# The way back *uses* the loss of the forward pass, and does not compute it again. There is no `.grad`, and nothing to
# clear. A gradient is a result like any other, and if you fetch only the loss, you pay only for the loss. And because a
# gradient is made of nodes, it has a gradient too:

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
# Explore the whole graph. Each call of `mg.gradients` is a group. Close the groups, and what is left is what you wrote.

# %%
GraphView(bend)

# %% [markdown] slideshow={"slide_type": "notes"}
# 7 minutes. In the drawing, find the two arrows that leave the loss: the way back shares the forward value. Ask what
# has become of retain_graph and zero_grad (nothing is freed, nothing adds up).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Training, on one graph
#
# We open the graph of the names again, and add a loss for each length. An optimizer takes no step here. Its `minimize`
# adds the operations *of* a step to the graph, gradients first, and returns the node that stands for all of them.

# %%
with graph.as_default():
    nodes_before = len(graph.get_operations())
    label = mg.placeholder("int64", (None,), name="label")
    optimizer = mg.optim.Adam(weights, lr=0.01)
    losses = {n: mg.cross_entropy(answers[n - 1], label) for n in range(3, 13)}
    steps = {n: optimizer.minimize(loss) for n, loss in losses.items()}
    start = mg.graph.global_variables_initializer()  # last, because the optimizer adds variables too
print(f"{nodes_before} nodes of ours, {len(graph.get_operations()):,} with ten losses, ten steps and the initializer")

# %% [markdown]
# Now the graph holds everything: forward passes, gradients and updates. All that Python still does is choose which
# names go in. Names of the same length can share a run, up to ten at a time.


# %%
def group_by_length(pairs, most=10):
    """Put names of the same length together, at most ten in a group."""
    groups = {}
    for pair in pairs:
        groups.setdefault(len(pair[0]), []).append(pair)
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]


def feed(pairs):
    """Make the feed for names of one length, with their labels."""
    columns = map(list, zip(*(spelled(name) for name, _ in pairs)))
    return dict(zip(letters, columns)) | {label: [language for _, language in pairs]}


def count_right(pairs):
    guesses = session.run(answers[len(pairs[0][0]) - 1], feed(pairs)).argmax(1)
    return sum(guesses == [language for _, language in pairs])


# %% slideshow={"slide_type": "subslide"}
nodes_before = len(graph.get_operations())
session.run(start)
for epoch in range(4):
    groups = group_by_length([names.train[i] for i in rng.permutation(700)])
    epoch_losses = []
    for i in rng.permutation(len(groups)):
        n = len(groups[i][0][0])
        loss_value, _ = session.run([losses[n], steps[n]], feed(groups[i]))
        epoch_losses.append(loss_value)
    print(f"epoch {epoch}: {len(epoch_losses)} runs, mean loss {np.mean(epoch_losses):.2f}")
right = sum(map(count_right, group_by_length(names.test)))
print("names it never saw, more than half right:", right > len(names.test) / 2)
print("nodes built by these runs:", len(graph.get_operations()) - nodes_before)

# %% [markdown]
# Not one node was built; in lesson 08 each epoch built 700 graphs. And the same graph can show its beliefs. We feed
# it a name and fetch nine of its answers, and *one* run says what it believes after each letter. Losses and steps are
# pruned. Put in your own name, in lower-case letters from a to z.

# %% tags=["nbval-ignore-output"]
name = "katarzyna"
beliefs = session.run(answers[: len(name)], {place: [number] for place, number in zip(letters, spelled(name))})
for length, belief in enumerate(beliefs, 1):
    print(f"{name[:length]:10} {names.languages[belief.argmax()]}")

# %% [markdown]
# There is one name that this graph cannot read. *Oluwatobiloba* has thirteen letters, and the graph ends after twelve:
# Python's `for` finished long ago, when the graph was built. Lesson 10 begins there.

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Let them say which nodes `session.run(answers[2], …)` needs, and why `label` need not be fed. If somebody
# forgets to run `start`, the error from above comes back: do that once on purpose. Try names from the room, up to
# twelve letters long.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What goes wrong here
#
# This style invites four mistakes: (1) we fetch an answer and forget to feed a letter; (2) we feed a letter with the
# wrong shape; (3) we fetch a node of another graph; (4) we multiply two matrices that do not fit. Before you run the
# cell, decide for each: does the error come when the graph is built, or when it runs?

# %% tags=["nbval-ignore-output"]
with mg.Graph().as_default():
    stranger = mg.placeholder("float64", (3,), name="stranger")
    wide = mg.placeholder("float64", (2, 3), name="wide")

yu = {place: [number] for place, number in zip(letters, spelled("yu"))}
print("1.", outcome(lambda: session.run(answers[2], yu)), "\n")
print("2.", outcome(lambda: session.run(answers[2], yui | {letters[0]: [[24]]})), "\n")
print("3.", outcome(lambda: session.run(stranger, {stranger: [1, 2, 3]})), "\n")
print("4.", outcome(lambda: wide @ wide))

# %% [markdown]
# The first three come only when the graph *runs*. The first and the third name the line that *built* the node, which
# may be far from the line that ran it. (`batch` is the number that `None` left open. TensorFlow 1 says of the first:
# `You must feed a value for placeholder tensor 'letter_3' with dtype int64 and shape [?]`.) The fourth comes when the
# graph is *built*: a (2, 3) matrix does not multiply a (2, 3) matrix, and you need no numbers to see that.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** This loop works, and every number that it prints is right. But its graph grows for as long as it
# runs. Which lines build nodes?

# %%
sizes = []
ten = [pair for pair in names.train if len(pair[0]) == 5][:10]
for rate in (0.5, 0.6, 0.7, 0.8):
    penalty = rate * (W * W).sum()
    session.run(losses[5] + penalty, feed(ten))
    sizes.append(len(graph.get_operations()))
print("nodes in the graph:", sizes)
graph.finalize()
print(outcome(lambda: losses[5] + 0.5 * (W * W).sum()))

# %% [markdown]
# Two lines do, in every round: `*` and `+` on nodes make nodes, even outside the `with` block, and the graph never
# forgets one. Each round also fetches a node that no run has fetched before, and below we see what that costs. The
# rate should have been a placeholder, built once and fed four times. `finalize` closes a graph that is complete. From
# then on the engine reports the mistake, as in the last lines.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs, and what it brings
#
# We time a training step with ten names of five letters, on your machine: in eager mode, and in a session. We also time
# the *first* run with 11 names, with 12, and so on. A session works out a plan for each new number of names, and uses
# the plan again in later runs. (The three take turns, for several rounds. Where the rounds disagree, the line says
# *somewhere between*.) How much quicker would you guess a step in a session is?

# %% tags=["measured", "nbval-ignore-output"]
tensors = [mg.tensor(value, requires_grad=True) for value in session.run(weights)]
eager_optimizer = mg.optim.Adam(tensors, lr=0.01)
five_letters, ten_fed = [pair for pair in names.train if len(pair[0]) == 5], feed(ten)
new_numbers = iter(range(11, len(five_letters)))  # numbers of names for which there is no plan yet


def eager_step():
    E, W, V = tensors
    state = mg.zeros(1, 24)
    for place in letters[:5]:
        state = (E[ten_fed[place]] + state @ W).tanh()
    eager_optimizer.zero_grad()
    mg.cross_entropy(state @ V, ten_fed[label]).backward()
    eager_optimizer.step()


def first_run():
    session.run([losses[5], steps[5]], feed(five_letters[: next(new_numbers)]))


times = in_turns(eager=eager_step, in_session=lambda: session.run([losses[5], steps[5]], ten_fed), first_run=first_run)
print(f"an eager step takes {times['eager'] / times['in_session']:.1f} times as long as one in a session")
print(f"the first run with a number of names takes {times['first_run'] / times['in_session']:.0f} times as long")

# %% [markdown]
# On most machines the eager step takes more than twice as long. With arrays this small, most of the time is overhead,
# Python's own work around each operation, and a session pays that once. The first run takes much longer than a later
# one. So defining first pays where the same graph runs many times, and not where every input needs a different graph.
#
# | | eager: define by run | static: define, then run |
# |---|---|---|
# | the graph | each run builds a new one | is built once |
# | values | are there at once: `print` them | exist during a run: fetch them |
# | control flow | is Python's | Python's is over when the graph is built: lesson 10 |
# | a mistake | stops at its line | may stop at a run, far from its line |
# | what nobody needs | is computed | is pruned |

# %% [markdown] slideshow={"slide_type": "notes"}
# 5 minutes. Cover the right column of the table and let the room fill it in. The question to end with: what would an
# `if` on a placeholder do? It raises the error of x.numpy(), and lesson 10 begins there.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory, and lock each answer.

# %% slideshow={"slide_type": "skip"}
Quiz("09_define_then_run")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | TensorFlow 1 | PyTorch | JAX |
# |---|---|---|---|
# | `mg.placeholder("float64", (3,))` | `tf.placeholder(tf.float64, (3,))` | an argument | an argument |
# | `mg.Session(graph)` | `tf.Session(graph=graph)` | none: it runs at once | none: you call the function |
# | `session.run(y, {x: a})` | `sess.run(y, {x: a})` | `f(a)` | `jax.jit(f)(a)` |
# | `w = mg.Variable(0.0)`, `w.initializer` | `w = tf.Variable(0.0)`, the same | a leaf | an argument |
# | `mg.gradients(y, [x])` | `tf.gradients(y, [x])` | `torch.autograd.grad(y, [x])` | `jax.grad(f)` |
# | `SGD([w], lr).minimize(loss)` | `GradientDescentOptimizer(lr).minimize(loss)` | `optimizer.step()` | Optax |
#
# TensorFlow 2 keeps these names in `tf.compat.v1`; the optimizer was in `tf.train`. PyTorch and JAX have no
# placeholders: they get a whole graph by watching a function run, which is lesson 11. ONNX Runtime can run graphs that
# come from any of them, with fetches and feeds by name, as in the line at the top.
#
# You may read that TensorFlow 1 built its graph *dynamically*, because a Python program builds it, line by line. That
# is a misunderstanding. The program built the graph before the first run, and every run used the same one: it is the
# standard example of a *static* graph. Dynamic means that each run records a graph of its own, as in lesson 06.
#
# ### The same in PyTorch
#
# `torch.fx` runs a function once, with placeholders instead of tensors, and writes a graph down. Building computes
# nothing, running does not call your function again, and a node that nobody needs can be removed before the first run.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch, in_tensorflow


@in_pytorch
def define_then_run(torch):
    """
    ['placeholder', 'placeholder', 'call_function', 'call_method', 'call_function', 'call_method', 'output']
    5 nodes are left
    run: 14.0   calls of f: 1
    run: 41.0   calls of f: 1
    """
    calls = []

    def f(x, y):
        calls.append("called")
        (x - y).exp()  # nobody uses the result
        return (x * y).sum()

    program = torch.fx.symbolic_trace(f)
    print([node.op for node in program.graph.nodes])
    program.graph.eliminate_dead_code()
    program.recompile()
    print(len(program.graph.nodes), "nodes are left")
    for x in (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0])):
        print("run:", program(x, x).item(), "  calls of f:", len(calls))


# %% [markdown] slideshow={"slide_type": "skip"}
# ### The same in TensorFlow
#
# TensorFlow 2 still runs the graphs of 2016. Here are tanh(w · x) and its gradient, with the lines of this lesson. We
# feed 0.5 for x, and 0 for the loss, which is a node *inside* the graph. We feed nothing for w. What does a run give
# for the gradient of w?
#
# Answer, then run the cell below. Its lines are folded, because the answer is among them: click its three dots to read
# them.


# %% jupyter={"source_hidden": true} slideshow={"slide_type": "skip"}
@in_tensorflow
def gradient_in_tensorflow(tf):
    """
    nodes: 4 and with the gradient 12
    x = 0.5, w = 1:    0.393224
    x = 0.5, loss = 0: 0.500000
    """
    v1 = tf.compat.v1
    with tf.Graph().as_default() as bend:
        x = v1.placeholder("float64", (), name="x")
        w = v1.placeholder("float64", (), name="w")
        loss = tf.tanh(w * x, name="loss")
        nodes_before = len(bend.get_operations())
        (gw,) = tf.gradients(loss, [w])
    print("nodes:", nodes_before, "and with the gradient", len(bend.get_operations()))
    with v1.Session(graph=bend) as session:
        print(f"x = 0.5, w = 1:    {session.run(gw, {x: 0.5, w: 1.0}):.6f}")
        print(f"x = 0.5, loss = 0: {session.run(gw, {x: 0.5, loss: 0.0}):.6f}")
    return GraphView(bend.as_graph_def())


# %% [markdown] slideshow={"slide_type": "skip"}
# (1 − 0 · 0) · 0.5 = 0.5. The way back reads the loss and does not compute it again, so nothing before the loss is
# needed, not even a value of w. (Our own graph gives 0.5 too.) In TensorFlow's graph the gradient is a group,
# named `gradients`. TensorFlow also built what nobody asked for: the gradient of x, and two empty shapes, `[]`, that no
# node reads. A run does not compute them.
#
# To draw a graph of your own, see [Your own graphs](../docs/your_own_graphs.md).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Building is not running. A placeholder has a shape and never a value; each run brings its own.
# - A run computes what its fetches need, up to what is fed, and nothing else.
# - Gradients are more nodes, and so is an optimizer's step. They share what the forward pass computes.
# - Variables live in a session. The graph is the recipe; two sessions are two kitchens.
# - Built once, run often: one graph for 700 names, and its overhead is paid once. But a loop that builds makes the
#   graph grow, and the thirteenth letter has no place in it.
#
# **Sources.** M. Abadi and others, *TensorFlow: large-scale machine learning on heterogeneous distributed systems*,
# arXiv:1603.04467 (2015), section 2 for graph, session and variables, 4.1 for gradients as nodes, 4.2 for feeds,
# fetches and what a run leaves out. J. Bergstra and others, *Theano: a CPU and GPU math compiler in Python*, SciPy
# 2010: an earlier system, in which graphs are written down first, in Python.
#
# **Exercise.** [09 Build once, run often](../exercises/09_build_once_run_often.ipynb): graphs that do no more than
# they must.
#
# **Next:** [10 Control flow in graphs](10_control_flow_in_graphs.ipynb): an `if` and a loop that decide when the graph
# runs.
