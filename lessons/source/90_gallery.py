# ---
# jupyter:
#   minigrad:
#     title: The gallery of widgets
#     minutes: 45
#     objectives:
#     - find the widget that shows what you want to see, and drive it with the keyboard
#     - point a widget at code of your own
#     concepts: []
#     builds_on: [03_train_a_network]
#     widgets:
#     - GraphView
#     - ChainRule
#     - GradientDescent
#     - ForwardAndReverse
#     - StaticVsDynamic
#     - PassViewer
#     - MemoryTimeline
#     - Schedule
#     - Roofline
#     - Precision
#     - Pipeline
#     - AllReduce
#     - TrainingView
#     - Predict
#     - Guess
#     - Quiz
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # The gallery of widgets
#
# Here is each widget of the course, with an example that fits on a screen. Look up the one you need; nobody reads this
# page from top to bottom. Most widgets are made from what the engine recorded or traced of a function or a network, so
# they work on **your** code: change a cell and run it again. `Pipeline` and `AllReduce` draw a plan, which is counted
# and not run.
#
# **Keys** are the same everywhere. Click a widget, or reach it with Tab. **→** and **←** step, **Home** and **End** go
# to the ends, and **space** plays. `print(widget.text)` says in words what the picture shows.
# `widget.save("page.html")` writes a page that steps without Python and without a network.

# %%
import numpy as np

import minigrad as mg
from minigrad import nn, widgets

# %% [markdown]
# ## A graph to walk about in
#
# Drag, zoom and search. Open and close modules. Select a node, and `view.selected` is its Python object.

# %%
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
view = widgets.GraphView(model, mg.ones(4, 8))
view

# %% [markdown]
# ## The chain rule, step by step
#
# It goes forward box by box, and backward arrow by arrow. Turn on **ask me first**, and it asks you for each gradient
# before it shows it. Drag a leaf, and values and gradients follow, even in a notebook without a kernel.

# %%
x, y, w = mg.Value(2.0), mg.Value(-3.0), mg.Value(4.0)
z = (x * y + w).tanh() * x
widgets.ChainRule(z)

# %% [markdown]
# Arrays are drawn as small heat maps, and arrows can carry formulas instead of numbers.

# %%
a = mg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), requires_grad=True)
b = mg.tensor(np.linspace(0, 1, 6).reshape(3, 2), requires_grad=True)
loss = ((a @ b).tanh()).sum()
widgets.ChainRule(loss)

# %% [markdown]
# ## Downhill
#
# A ball rolls on a curve of yours, or on a surface seen from above, where bluer is higher. Drag the learning rate, the
# momentum or the start, or click on the picture. The page computes the steps itself, from the graph that minigrad
# traced.


# %%
def valley(x, y):
    return (1 - x) ** 2 + 5 * (y - x**2) ** 2


widgets.GradientDescent(valley, (-1.5, 2), 0.02, momentum=0.8, longest=60, low=(-2, -1), high=(2, 3))

# %% [markdown]
# ## Forward mode and reverse mode
#
# Forward mode needs one pass for each input, and reverse mode one for each output. Here are six inputs and one output,
# as in training, where a loss depends on all parameters. Which mode is cheaper?


# %%
def loss(a, b, c, d, e, f):
    return (a * b + c * d + e * f) ** 2


widgets.ForwardAndReverse(loss, 1.0, 2.0, 3.0, -1.0, 2.0, 1.0)

# %% [markdown]
# ## Eager, and as a static graph
#
# You see the same function twice. On the left it runs eagerly: each line adds its nodes, and values are there at once.
# On the right the graph is built first, and values flow when it is run. Dots beside a line count how often Python runs
# it. Click a line, and its nodes light up on both sides.


# %%
def f(x):
    print("f is running")
    y = x * 2
    if y > 0:
        y = y + 1
    for _ in range(2):
        y = y * y
    return y


widgets.StaticVsDynamic(f, cases=[(mg.tensor(1.0),), (mg.tensor(-1.0),), (mg.tensor(3.0),)])

# %% [markdown]
# ## What a compiler does to a graph
#
# Pass by pass, it shows what the pass removes, what it adds, and how many bytes and how much time that saves. × 1
# goes, and + 0 stays, because −0 + 0 is 0.


# %% tags=["measured", "nbval-ignore-output"]
def layer(x, w, b):
    return ((x @ w + b).tanh() * 1 + 0).sum()


passes = widgets.PassViewer(mg.function(layer), mg.ones(32, 64), mg.ones(64, 16), mg.ones(16))
passes

# %% [markdown]
# ## Where the memory goes
#
# It shows the live bytes over the steps of a real run. The switches are checkpointing, micro-batches, and memory that
# is planned ahead. Checkpoints pay off if the model is deep and its activations are larger than its weights.


# %%
def squared_error(output, target):
    return (output - target).square().mean()


hidden = [layer for _ in range(4) for layer in (nn.Linear(16, 16), nn.Tanh())]
deep = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), *hidden, nn.Linear(16, 1))
widgets.MemoryTimeline(deep, squared_error, mg.ones(256, 8), mg.zeros(256, 1))

# %% [markdown]
# ## Work for several workers
#
# Two branches of a graph can run at the same time. What is gained with two workers, or with three?


# %%
def branches(x):
    left = x.exp().sin().tanh()
    right = x.cos().exp().sqrt()
    return left * right


widgets.Schedule(branches, mg.ones(300, 300))

# %% [markdown]
# ## Under which roof?
#
# What limits each op on *this* machine: how fast it calculates, or how fast it reads memory? The widget measures that
# first, which takes a second or two.

# %% tags=["measured", "nbval-ignore-output"]
widgets.Roofline(layer, mg.ones(256, 256), mg.ones(256, 256), mg.ones(256))

# %% [markdown]
# ## Gradients in sixteen bits
#
# These are the gradients of eight sigmoid layers. The first layers get almost none. What is left of them in float16,
# and which scale of the loss saves most of them?

# %%
layers = [layer for _ in range(8) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
deep = nn.Sequential(*layers, nn.Linear(8, 1))
widgets.Precision(deep, squared_error, mg.ones(16, 8), mg.zeros(16, 1))

# %% [markdown]
# ## A network in stages, and gradients in a ring
#
# The first shows who waits in a pipeline, and what GPipe and 1F1B keep (lesson 23), the second how a ring adds up
# gradients (lesson 22).

# %%
widgets.Pipeline()

# %%
widgets.AllReduce()

# %% [markdown]
# ## Training, live
#
# It trains while you read on. **Pause**, **Train 1 step** and **Resume** do what they say. You can also change the
# pace, and the learning rate, which takes effect at once. Drag a point: the page then trains from the first weights, on
# what you moved.

# %%
rng = np.random.default_rng(0)
points = mg.tensor(rng.normal(size=(100, 2)))
inside = mg.tensor((points.numpy() ** 2).sum(1, keepdims=True) < 1).astype("float64")
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = mg.optim.Adam(net.parameters(), lr=0.05)

# %% tags=["measured", "nbval-ignore-output"]
loss = nn.functional.binary_cross_entropy_with_logits
training = widgets.TrainingView(net, loss, (points, inside), optimizer, speed=50)
training.run(300)

# %% [markdown]
# ## Questions
#
# `Predict` asks before a cell shows the answer, and `reveal` compares. `Quiz` asks at the end of a lesson. What you
# lock stays locked, even after a restart.

# %%
widgets.Predict("gallery_boxes", "How many boxes does the graph of x * x + x have?", unit="boxes")

# %% [markdown]
# A `Guess` asks for what the text cannot tell you, such as a time on your machine. It is compared, and not counted.

# %%
widgets.Guess("gallery_seconds", "How long does it take to draw this page?", unit="seconds")

# %%
widgets.Quiz("00_start_here")
