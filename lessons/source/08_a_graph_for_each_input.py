# ---
# jupyter:
#   minigrad:
#     title: A graph for each input
#     minutes: 30
#     objectives:
#       - say which graph a function leaves for a given input, and what its gradient does not know
#       - train a network on sequences of any length, each with a graph of its own
#       - find a fault with print, assert and the traceback
#       - count what it costs to build a graph in every run, and name what nobody can see while it grows
#     concepts: [B8, B9, B10]
#     builds_on: [06_the_dynamic_graph]
#     widgets: [StaticVsDynamic, GraphView, Predict, Quiz]
#     terms:
#       recurrent network: a network that reads a sequence item by item, with the same weights at each, and carries a
#         state from one to the next
#       state: the numbers in which a recurrent network keeps what it has read so far
#       confusion matrix: a table that says, for each true class (the row), how often its examples were taken for each
#         class (the column)
#       anomaly detection: a way to run in which every operation notes the line that ran it, so that the first gradient
#         that is NaN can be traced to a line
#       overhead: the time that an operation takes on top of its arithmetic, the same for small arrays and large ones
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 08 A graph for each input
#
# Which language is the name *Yui* from? And *Sopuruchukwu?* You may have an idea, from the sound alone. In this lesson
# you train a network that has one too. It reads a name letter by letter, and at the end you can type in your own.
#
# But *Yui* has three letters, and *Sopuruchukwu* has twelve. How can *one* graph read both? If Python records the graph
# while it runs, it need not: **every input gets a graph of its own.** That makes almost everything easy, from loops to
# debugging. It also costs 700 graphs for 700 names, and the next seven lessons bring that cost down.
#
# **About 30 minutes.** Afterwards you can
#
# - say which graph a function leaves for a given input, and what its gradient does not know;
# - train a network on sequences of any length, each with a graph of its own;
# - find a fault with `print`, `assert` and the traceback;
# - count what it costs to build a graph in every run, and name what nobody can see while it grows.
#
# **Builds on** [06 The dynamic graph](06_the_dynamic_graph.ipynb).

# %% slideshow={"slide_type": "skip"}

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.core.modes import watching
from minigrad.core.node import toposort
from minigrad.widgets import StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A loop that nobody can count beforehand
#
# First something smaller than a network. Halve an even number; multiply an odd one by 3 and add 1; stop at 1. How many
# rounds does that take? No formula is known for it. You have to start and count, and so does Python. The engine records
# what ran.
#
# The road from 4 is 4, 2, 1: two operations. The road from 6 begins with 3 and 10. How many operations are in its
# graph? Walk it with a pencil before you run the cell: a halving is one operation, `3 * y + 1` is two.


# %%
def road(x):
    y = x
    while y.item() > 1:
        if y.item() % 2 == 0:
            y = y / 2
        else:
            y = 3 * y + 1
    return y


def operations(y):
    """List the operations in the graph of y."""
    return [type(node.op).__name__ for node in toposort(y.node) if node.inputs]


def number(value):
    """Make a tensor of one number that requires a gradient."""
    return mg.tensor(float(value), requires_grad=True)


for start in (4, 6, 7, 8):
    print(f"the road from {start}: {len(operations(road(number(start))))} operations")

# %% [markdown] slideshow={"slide_type": "notes"}
# About 6 minutes. Let two people walk 6 and 7 at the board, one calling out "even" or "odd". The point to draw out:
# the tests of `while` and `if` are not in the graph, but what follows from them is. If someone asks whether every
# road ends: nobody knows (Collatz, 1937); `while` does not care.

# %% [markdown]
# 6, 3, 10, 5, 16, 8, 4, 2, 1: six halvings, and twice a product and a sum.

# %% [markdown] slideshow={"slide_type": "subslide"}
# One function and three inputs make three graphs. Step through them; *input* switches between the three. Watch the line
# that runs, and the boxes that it adds.

# %%
StaticVsDynamic(road, cases=[(number(8),), (number(3),), (number(5),)])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Only the branch that ran
#
# The line `y = 3 * y + 1` is inside the loop, and on the road from 8 Python skipped it three times. So what is the
# gradient at 8, along the road that ran?

# %%
Predict("gradient at 8", "What is the gradient of road(x) at x = 8?")

# %%
x = number(8)
road(x).backward()
reveal("gradient at 8", x.grad.item())

# %% [markdown]
# It is 1/8: three halvings ran, and the gradient is the product of their slopes. There is no trace of the other branch.
# **What did not run is not recorded.** It is not even a node that is switched off. The `while` and the `if` are not in
# the graph either: they were Python's, and looked at plain numbers.

# %% [markdown] slideshow={"slide_type": "notes"}
# 5 minutes. The misconception to look for: "it records all branches and uses one of them". Ask where in the picture the
# other branch would be. A second one: that the gradient somehow includes the condition. The next cells are about that.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the gradient on every road

# %% [markdown] slideshow={"slide_type": "skip"}
# How far does the end move if x moves a little? That is another question: 8.001 is not even, and takes another road.
# `gradcheck` nudges, and would tell you so.

# %% [markdown] slideshow={"slide_type": "skip"}
# On every road the gradient is a product, with a factor 3 for each odd number and a factor 1/2 for each even one. The
# drawing is the whole graph of the road from 8.

# %% slideshow={"slide_type": "skip"}
from collections import Counter

for start in (4, 6, 7, 8):
    x = number(start)
    y = road(x)
    y.backward()
    kinds = Counter(operations(y))
    print(f"{start}: 3^{kinds['Mul']} / 2^{kinds['Div']} = {3 ** kinds['Mul'] / 2 ** kinds['Div']:.6f}", end="  ")
    print(f"backward: {x.grad.item():.6f}")
mg.draw(road(number(8)))

# %% [markdown] slideshow={"slide_type": "slide"}
# ### What the gradient does not know
#
# Below a threshold we heat, at one price; above it we put up with the cold, at another. Which threshold is best? We ask
# the engine for its gradient, on a day of 14 degrees.


# %%
def cost(degrees, threshold):
    if degrees.item() < threshold.item():
        return 0.2 * (20 - degrees)  # heat
    return 0.05 * (20 - degrees) ** 2  # be cold


degrees, threshold = number(14), number(15)
cost(degrees, threshold).backward()
print("degrees.grad:", degrees.grad, "  threshold.grad:", threshold.grad)
for t in (15, 14.5, 13.5, 13):
    print(f"threshold {t:4}: cost {cost(degrees, number(t)).item():.1f}")

# %% [markdown]
# **Where it breaks.** The threshold decides what the day costs, and yet its gradient is `None`. Python looked at it,
# but no operation did, so it is not in the graph at all. A gradient is that *of the road that was taken*: it knows no
# other roads. If a parameter occurs only in the test of an `if`, it is never trained, and no error tells you. Look for
# a `None`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Names of every length
#
# Now the network. It reads a given name, letter by letter, and says which language the name is from.

# %%
LETTERS = "abcdefghijklmnopqrstuvwxyz"
names = mg.data.names()
print(len(names.train), "names to learn from,", len(names.test), "to judge by")
for name, label in names.train[10::100]:
    print(f"{names.languages[label]:9}", name)

# %% [markdown]
# The shortest name has 3 letters, the longest 12. A **recurrent network** carries a **state**, here 24 numbers, from
# letter to letter. Each letter has a row of E, which pushes the state; W says what becomes of the previous state; V
# turns the last state into a score for each language. The same W is used at every letter, however many there are. The
# loop is Python's `for`:


# %% slideshow={"slide_type": "subslide"}
def spelled(name):
    """Turn a name's letters into numbers."""
    return mg.tensor([LETTERS.index(letter) for letter in name])


def new_network(seed):
    rng = np.random.default_rng(seed)
    shapes = (26, 24), (24, 24), (24, len(names.languages))
    return [mg.tensor(rng.normal(0, 0.2, shape), requires_grad=True) for shape in shapes]


def scores(letters, E, W, V):
    """Compute a score for each language, as a row."""
    state = mg.zeros(1, 24)
    for letter in letters:
        state = (E[letter] + state @ W).tanh()
    return state @ V


E, W, V = network = new_network(seed=0)
y = scores(spelled("yui"), E, W, V)
print(len(toposort(y.node)), "nodes for the 3 letters of yui")
mg.draw(y)

# %% [markdown]
# The same four operations come three times: look up a row of E (the symbol is `[ ]`), multiply the state by W, add, and
# bend (tanh). Each time there is also a small leaf, the number of the letter. W is one node with three arrows; on the
# way back its three gradients add.
#
# How many nodes does the graph of *sopuruchukwu* have, with its 12 letters?

# %%
Predict("nodes for 12 letters", "How many nodes are there for the 12 letters of sopuruchukwu?")

# %%
y = scores(spelled("sopuruchukwu"), *network)
reveal("nodes for 12 letters", len(toposort(y.node)))

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes with the picture of yui. Let them find W, count its arrows, and say what will happen there on the way
# back. A frequent slip is to count the leaves again for every letter: 3 letters are 20 nodes, and 12 are not four
# times that.

# %% [markdown]
# Each letter adds five nodes. E, W, V, the state at the start and the last product are there once: 12 · 5 + 5 = 65.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the repetition in a view

# %% [markdown] slideshow={"slide_type": "skip"}
# The view below finds the repetition by itself. Open the group *×12*, and then one of its twelve.

# %% slideshow={"slide_type": "skip"}
from minigrad.widgets import GraphView

GraphView(y)

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Training on 700 graphs
#
# This is the loop of lesson 03. Ten names are ten graphs, of different lengths; their gradients add up in the
# parameters, and then comes one step. (Adam is gradient descent that fits the length of the step to each parameter.)
#
# Guessing blindly gets 20 of the 140 unseen names right, and all that the network ever learns about a letter is a
# number from 0 to 25. How many names will it get right? Say a number before you run the cell.


# %%
def train(network, epochs):
    rng = np.random.default_rng(0)
    optimizer = mg.optim.Adam(network, lr=0.01)
    for _ in range(epochs):
        for place, i in enumerate(rng.permutation(len(names.train)), 1):
            name, label = names.train[i]
            loss = mg.cross_entropy(scores(spelled(name), *network), [label]) / 10  # its part in a mean of ten
            loss.backward()
            if place % 10 == 0:
                optimizer.step()
                optimizer.zero_grad()


def believed(name):
    """Return the label that the network believes in."""
    with mg.no_grad():
        return scores(spelled(name), *network).numpy().argmax()


train(network, epochs=4)
right = sum(believed(name) == label for name, label in names.test)
print("names it never saw, more than half right:", right > len(names.test) / 2)

# %% [markdown]
# More than half, and nobody told it what a vowel is.
#
# *Yui* is Japanese, and *Sopuruchukwu* is Igbo. Does the network agree? (Three letters are little to go by.) And what
# does it believe while it reads? There is a state after every letter, so we can ask. Put in your own name, in
# lower-case letters from a to z.

# %% tags=["nbval-ignore-output"]
print({first_name: names.languages[believed(first_name)] for first_name in ("yui", "sopuruchukwu")})
name = "katarzyna"
for length in range(1, len(name) + 1):
    print(f"{name[:length]:10} {names.languages[believed(name[:length])]}")

# %% [markdown] slideshow={"slide_type": "notes"}
# 8 minutes. Ask for names from the room; the belief after each letter is the best part. Names of other languages are
# forced into the seven: say so before somebody is disappointed. One name in six was kept for the test; with 20 for each
# language the table is rough.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: where it goes wrong
#
# A **confusion matrix** has a row for the language that a name is from, and a column for the language that it was taken
# for.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt

from minigrad.course import follow_theme

follow_theme()
table = np.zeros((7, 7), int)
for name, label in names.test:
    table[label, believed(name)] += 1
fig, ax = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
ax.imshow(table, cmap="Blues", vmax=20)
for (row, column), count in np.ndenumerate(table):
    ax.text(column, row, count, ha="center", va="center", color="white" if count > 12 else "black")
ax.set_xticks(range(7), names.languages, rotation=45, ha="right")
ax.set_yticks(range(7), names.languages)
ax.set(xlabel="taken for", ylabel="is", title="20 unseen names of each language")
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: a table of seven rows and seven columns, dark along the diagonal, where the network is right. Off the
# diagonal the counts are small; the largest is for Japanese names taken for Finnish ones.*
#
# Both like a vowel after every consonant: akira, aino.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Ordinary tools
#
# That loop over the letters was a small act of debugging. The graph grows in Python, so every tool that looks into
# Python looks into the graph as well: `print`, `assert`, and `%debug` after an error. Each tensor has its value
# already, because the engine has computed everything up to the line where the program stands.


# %% tags=["raises-exception"]
def checked(name):
    for letter in name:
        assert letter in LETTERS, f"{letter!r} in {name!r} has no row in E"
    return spelled(name)


scores(checked("małgorzata"), *network)

# %% [markdown]
# The arrow points at the line that failed, and that line is *ours*; the message names the letter and the name.
# Remember this: in the next lesson, the line that fails and the line that is wrong will be two different lines.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a fault without a line
#
# A NaN raises no error. See where one comes from, find its line by **anomaly detection**, and repair it.

# %% [markdown] slideshow={"slide_type": "skip"}
# Some faults raise no error. Here is the root of x where x is positive, and 0 elsewhere: `mg.where` picks element by
# element. At x = 0 it gives 0, as it should. What is its gradient there: 0, infinity or
# NaN?


# %% slideshow={"slide_type": "skip"}
def root(x):
    return mg.where(x > 0, x.sqrt(), 0 * x)


print(root(mg.tensor([4.0, 0.0])))

# %% slideshow={"slide_type": "skip"}
x = mg.tensor([4.0, 0.0], requires_grad=True)
with np.errstate(all="ignore"):  # NumPy's warnings, which are lost in a long log
    root(x).sum().backward()
print("forward:", root(x).detach(), "  backward:", x.grad)

# %% [markdown] slideshow={"slide_type": "skip"}
# Forward is right, and backward is not. The result is NaN, *not a number*, which is what arithmetic gives where it has
# no answer. An `if` leaves one branch in the graph; `where` computes both, and differentiates both. So it sends the
# gradient 0 back to the root, the branch that was not picked. The slope of the root at 0 is infinite: a nudge of 0.0001
# moves it by 0.01, a hundred times as far, and a smaller nudge by an even larger factor. And 0 × ∞ is NaN.

# %% [markdown] slideshow={"slide_type": "skip"}
# An error stops. A NaN goes on, through every operation that it meets: take one training step with this gradient, and
# the parameters are NaN. In a network of a thousand operations, which one made it? Under anomaly detection each
# operation notes the line that ran it, and `backward` stops at the first gradient that is NaN:

# %% slideshow={"slide_type": "skip"}
import textwrap

try:
    with mg.autograd.detect_anomaly(), np.errstate(all="ignore"):
        root(mg.tensor([4.0, 0.0], requires_grad=True)).sum().backward()
except mg.errors.AnomalyError as error:
    print(*[textwrap.fill(line, 90) for line in str(error).splitlines() if "File" not in line], sep="\n")

# %% [markdown] slideshow={"slide_type": "skip"}
# (We left out the line with the file's name. PyTorch's words are `Function 'SqrtBackward0' returned nan values in its
# 0th output.`) The message names the culprit, the root, and the line that ran it. The repair is to choose *before* the
# dangerous operation, so that it never sees the 0:


# %% slideshow={"slide_type": "skip"}
def safe_root(x):
    positive = x > 0
    return mg.where(positive, mg.where(positive, x, 1.0).sqrt(), 0 * x)


x = mg.tensor([4.0, 0.0], requires_grad=True)
safe_root(x).sum().backward()
print("forward:", safe_root(x).detach(), "  backward:", x.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs
#
# Python builds the graph again and again. This is one epoch over the 700 names:

# %%
sizes = [len(toposort(scores(spelled(name), *network).node)) for name, _ in names.train]
print(f"graphs built in one epoch: {len(sizes)}, with {sum(sizes):,} nodes")
print(f"graphs that differ in more than their numbers: {len(set(sizes))}")

# %% [markdown]
# Seven hundred graphs, but only ten shapes, one for each length from 3 to 12. Suppose that you work out something for a
# graph, such as an order or a plan. The next name of five letters starts from nothing.
# Lessons 09, 10 and 11 bring the 700 down to one, each in its own way.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: overhead, timed and counted
#
# For each operation Python looks up what to do, notes the parents and keeps what backward needs. This **overhead** is
# the same for one number and for a million.

# %% [markdown] slideshow={"slide_type": "skip"}
# We time `a * b` against plain NumPy, which has less overhead, on your machine. (The two take turns, for several
# rounds. Where the rounds disagree, the line says *somewhere between*.)

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
from minigrad.course import in_turns


def product(a, b):
    return lambda: a * b


for size in (1, 1_000, 1_000_000):
    tensors = mg.ones(size, requires_grad=True), mg.ones(size)
    times = in_turns(minigrad=product(*tensors), numpy=product(np.ones(size), np.ones(size)))
    print(f"{size:9,} numbers: {times['minigrad'] / times['numpy']:.1f} times as long as NumPy")

# %% [markdown] slideshow={"slide_type": "skip"}
# On most machines a product of two numbers takes several times as long as NumPy's, and a product of a million numbers
# little longer.

# %% [markdown] slideshow={"slide_type": "skip"}
# The states of our network have 24 numbers, so it spends its time on overhead. This is why people who work in eager
# mode make arrays large: they put many examples into one.

# %% [markdown] slideshow={"slide_type": "skip"}
# Overhead can also be counted, without a clock. This cell counts the calls that Python sees during one product, in
# minigrad and in NumPy.

# %% tags=["measured", "nbval-ignore-output"]
import sys


def count_calls(work):
    events = []
    sys.setprofile(lambda frame, event, what: events.append(event) if "call" in event else None)
    work()
    sys.setprofile(None)
    return len(events) - 2  # without work itself, and setprofile


def calls_of_a_product(a, b):
    count_calls(lambda: a * b)  # the first time, more is looked up
    return count_calls(lambda: a * b)


for size in (1, 1_000_000):
    ours = calls_of_a_product(mg.ones(size, requires_grad=True), mg.ones(size))
    numpys = calls_of_a_product(*np.ones((2, size)))
    print(f"{size:9,} numbers: {ours} calls for one product, and in NumPy {numpys}")

# %% [markdown]
# The number of calls does not depend on the size of the arrays.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Nobody sees the whole
#
# There is a second price: each operation runs before Python has read the next line. The engine tells a watcher about
# each operation as it runs. How many operations run in `careless`?


# %%
class OperationLog:
    """Notes each operation that runs: the engine calls on_forward for it."""

    def __init__(self):
        self.names = []

    def on_forward(self, op, y, xs):
        self.names.append(type(op).__name__)


def careless(x):
    left = (x * 2).exp()
    (x * 3).tanh()  # nobody uses the result
    right = (x * 2).exp()
    return left + right


Predict("operations that ran", "How many operations run in careless(x)?")

# %%
with watching(OperationLog()) as log:
    y = careless(mg.ones(3, requires_grad=True))
reveal("operations that ran", len(log.names))

# %%
print(len(log.names), "operations ran:", ", ".join(log.names))
print(len(operations(y)), "are in the graph of the result:", ", ".join(operations(y)))

# %% [markdown]
# Seven ran, and five are in the graph. Backward will never visit the tanh, and yet it was computed: when it ran, Python
# could not know that nobody would use it. And of the five, two repeat what two others have done. Three would be enough.
#
# If you see the whole function *before* it runs, you can leave out the other four. That is what the next lesson is
# about.

# %% [markdown] slideshow={"slide_type": "notes"}
# 6 minutes. Counting by hand before the reveal: 2, 2, 2 and 1. Ask what would have to be known, and when, to skip the
# tanh. Leave the question open as the way into lesson 09.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory.

# %% slideshow={"slide_type": "skip"}
Quiz("08_a_graph_for_each_input")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# The words of this lesson in PyTorch, TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|
# | Python's `if`, `while` and `for` | the same | the same, in eager mode | the same, outside `jit` |
# | `y.item()` | `y.item()` | `y.numpy()` | `y.item()` |
# | `mg.where(p, a, b)`, both computed | `torch.where` | `tf.where` | `jnp.where` |
# | `mg.autograd.detect_anomaly()` | `torch.autograd.detect_anomaly()` | `enable_check_numerics()` | `jax_debug_nans` |
# | the `for` over letters | `torch.nn.RNNCell` in a `for` | `SimpleRNNCell` in a `for` | a `for`, or `lax.scan` |
#
# (TensorFlow's is in `tf.debugging`; JAX's is a setting of `jax.config`.) All four have the trap of `where`, though
# TensorFlow's root, in eager mode, avoids it: try its `log`.
#
# ### The same in PyTorch
#
# Python's `if` and `while` shape the graph here too: each start takes another road and gets its own gradient. And the
# trap of `where` is the same: the value is right, and the gradient is NaN.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def roads_in_pytorch(torch):
    """
    from 4: 2 steps, gradient 0.250000
    from 6: 8 steps, gradient 0.140625
    from 8: 3 steps, gradient 0.125000
    where: values [2.0, 0.0]   gradients [0.25, nan]
    """
    for start in (4.0, 6.0, 8.0):
        y = x = torch.tensor(start, requires_grad=True)
        steps = 0
        while y.item() > 1:
            y, steps = (y / 2 if y.item() % 2 == 0 else 3 * y + 1), steps + 1
        y.backward()
        print(f"from {start:g}: {steps} steps, gradient {x.grad.item():.6f}")
    x = torch.tensor([4.0, 0.0], requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), 0 * x)
    y.sum().backward()
    print("where: values", y.tolist(), "  gradients", x.grad.tolist())


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Python's control flow shapes the graph: one function, three inputs, three graphs. Only what ran is in them.
# - A gradient is that of the road taken. A value that was only tested in an `if` has none.
# - Sequences of any length need nothing but a `for`. The weights are shared, and their gradients add.
# - An error stops at the line that is wrong, with all its values.
# - The price: 700 graphs for 700 names, and nobody who sees the whole.
#
# **Sources.** J. L. Elman, *Finding structure in time*, Cognitive Science 14 (1990), 179-211: the recurrent network.
# S. Tokui and others, *Chainer: a deep learning framework for accelerating the research cycle*, KDD 2019, and G.
# Neubig and others, *DyNet: the dynamic neural network toolkit*, arXiv:1701.03980 (2017), sections 1 and 2: a graph
# for each input, and what it costs. A. Paszke and others, *PyTorch: an imperative style, high-performance deep
# learning library*, NeurIPS 2019: the case for ordinary Python. The names were compiled for this course.
#
# **Exercise.** [08 The road taken](../exercises/08_the_road_taken.ipynb): graphs that are as long as you make them.
#
# **Next:** [09 Define, then run](09_define_then_run.ipynb) writes the graph of the names down, and builds it once.
