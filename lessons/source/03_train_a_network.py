# ---
# jupyter:
#   minigrad:
#     title: Train a network
#     minutes: 30
#     objectives:
#       - write gradient descent as five lines, and choose a learning rate by looking
#       - train a network made of single numbers, and count what a step costs
#       - recognise a forgotten zero_grad by what training then does
#       - train on arrays to read handwritten digits, and judge the result on digits it never saw
#     concepts: [A7]
#     builds_on: [02_chain_rule_backwards]
#     widgets: [GradientDescent, TrainingView, Predict, Quiz]
#     terms:
#       gradient descent: Taking step after step against the gradient, each a fraction of it; forward, clear,
#         backward, step
#       learning rate: The fraction of the gradient that a step takes
#       parameters: The numbers in a network that training may change
#       neuron: A unit that weighs its inputs, adds a bias, and bends the sum
#       layer: Several neurons on the same inputs
#       loss surface: The loss as a height over the parameters
#       momentum: A step that keeps a part of the step before it, so that steps gather speed, with a friction that you
#         choose
#       softmax: A function from scores to probabilities; e to each score, divided by the sum of that over all scores
#       mini-batch: The few examples that one step of training looks at
#       epoch: One pass of training over all examples
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 03 Train a network
#
# You can now find out how far a loss moves when any of its numbers does. That tells you which way is down; it does not
# make you go there. In this lesson you go: with one number, with a small network of single numbers, and with a network
# on arrays that reads handwriting it has never seen. On the way, one forgotten line will make one network better and
# ruin another, and no error will tell you.
#
# **About 30 minutes.** Afterwards you can
#
# - write gradient descent as five lines, and choose a learning rate by looking;
# - train a network made of single numbers, and count what a step costs;
# - recognise a forgotten `zero_grad` by what training then does;
# - train on arrays to read handwritten digits, and judge the result on digits it never saw.
#
# **Builds on** [02 The chain rule, backwards](02_chain_rule_backwards.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): *gelu*; *cross entropy*, *mean*.

# %% slideshow={"slide_type": "skip"}
import random

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal_range
from minigrad.course.plots import follow_theme
from minigrad.scalar.value import history
from minigrad.widgets import GradientDescent

BLUE, VERMILION = "#0072B2", "#D55E00"
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One number
#
# The loss (w − 3)² is smallest at w = 3, but suppose that we can only ask for its slope. At w = 0 the slope is −6: the
# loss falls when w grows. So we move *against* the gradient, by a fraction of it called the **learning rate**:
#
# w ← w − learning rate × gradient
#
# With the learning rate 0.1, the first step from 0 is 0.1 × 6 = 0.6, to the right. Where does it go from there?


# %% slideshow={"slide_type": "fragment"}
def descend(w, learning_rate, steps, clear=True):
    """Return the path of w under gradient descent on (w − 3)²."""
    path = [w.data]
    for _ in range(steps):
        loss = (w - 3) ** 2
        if clear:
            w.grad = 0.0
        loss.backward()
        w.data -= learning_rate * w.grad
        path.append(w.data)
    return path


path = descend(mg.Value(0.0), learning_rate=0.1, steps=20)
print(" ".join(f"{w:.2f}" for w in path))

# %% [markdown] slideshow={"slide_type": "fragment"}
# The path closes in on 3, in steps that shrink with the slope. The loop is the whole of **gradient descent**: forward,
# clear, backward, step.
#
# Does a larger learning rate get there sooner? Work out the first two or three steps with the learning rate 1.1, and
# predict what w will do.

# %% [markdown] slideshow={"slide_type": "notes"}
# Let somebody be w: stand at 0, ask for the slope, take a tenth of it as a step. A plus in place of the minus is worth
# acting out too.

# %% slideshow={"slide_type": "fragment"}
Predict("learning rate 1.1", "What is w doing?", options=["settling", "swinging forever", "running away"])

# %% slideshow={"slide_type": "fragment"}
path = descend(mg.Value(0.0), learning_rate=1.1, steps=20)
reveal_range("learning rate 1.1", max(abs(w - 3) for w in path[-15:]), 1, 4)

# %% slideshow={"slide_type": "fragment"}
for rate in (0.01, 0.1, 0.5, 0.9, 1.0, 1.1):
    path = descend(mg.Value(0.0), rate, steps=20)
    print(f"learning rate {rate:4}: {' '.join(f'{w:7.2f}' for w in path[:6])}  …  after 20 steps {path[-1]:8.2f}")

# %% [markdown] slideshow={"slide_type": "fragment"}
# The slope at w is 2 × (w − 3), so each step multiplies the distance to 3 by 1 − 2 × rate. At 0.5 that factor is 0, and
# one step gets there. At 1.0 it is −1, and w jumps between 0 and 6 forever. Beyond that, w runs away. A slope is a
# local promise, and a long step outruns it. Most losses have no formula as simple as this one, so nobody knows the
# limit beforehand: you try rates and look at the curve.

# %% [markdown] slideshow={"slide_type": "notes"}
# Most wrong predictions say that w settles. Ask for the factor, 1 − 2 × rate, from the first two numbers of each row,
# before you read the paragraph.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a ball on the curve, and momentum
#
# Drag the learning rate, and watch w roll. Then give it **momentum**: each step keeps a part of the step before.

# %% [markdown] slideshow={"slide_type": "skip"}
# In the next picture w is a ball on the curve, and the straight line shows the slope where the ball is. Before you drag
# the learning rate to 0.5, 1.0 and 1.1, say where the ball will be after two steps.


# %% slideshow={"slide_type": "skip"}
def loss(w):
    return (w - 3) ** 2


GradientDescent(loss, rate=0.1, longest=20, low=-1, high=7)

# %% [markdown] slideshow={"slide_type": "skip"}
# Momentum keeps a part of the step before, 0.9 of it in `mg.optim.SGD(..., momentum=0.9)`. Set the learning rate to
# 0.02. Without momentum the ball has reached 1.67 after 20 steps. With 0.9 it is past 3 after 9 steps, and turns round
# at 4.3.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two moons
#
# Now a task that no straight line solves: tell the upper moon from the lower.

# %% slideshow={"slide_type": "fragment"}
points, labels = mg.data.moons(60, noise=0.1, seed=0)
upper, lower = points[labels == 0].T, points[labels == 1].T
ax = plt.figure(figsize=(5, 3.2)).subplots()
ax.plot(*upper, "o", *lower, "s")
ax.legend(["upper moon", "lower moon"])
plt.show()

# %% [markdown] slideshow={"slide_type": "subslide"}
# *The plot: two half circles, one opening downwards and one upwards, each with its end inside the other.*
#
# A **neuron** weighs its inputs, adds a bias, and bends the sum. Here tanh does the bending: it turns every number into
# a number between −1 and 1. Without the bend, two layers would be no better than one, because a sum of weighted sums is
# a weighted sum again. (Other networks bend with relu, or with *gelu* as the GPT of lesson 00 does: a smooth relu.)
#
# Training may change the weights and the bias: they are the **parameters**. A **layer** is several neurons on the same
# inputs. Our network has a layer of 8 neurons. One more row of weights turns their results into a single *score*: above
# 0 for the lower moon, below 0 for the upper.

# %% [markdown] slideshow={"slide_type": "notes"}
# Draw one neuron on the board, and ask which boxes are parameters, and which ones change when another point comes
# along. The code of the network is one screen; the rest can be followed without it.


# %% slideshow={"slide_type": "skip"}
def new_layer(rng, inputs, neurons):
    """One row for each neuron: its weights, and its bias at the end."""
    return [[mg.Value(rng.uniform(-1, 1)) for _ in range(inputs + 1)] for _ in range(neurons)]


def new_network():
    rng = random.Random(0)
    return new_layer(rng, 2, 8), new_layer(rng, 8, 1)


def weigh(layer, xs):
    """For each row: its weights times xs, plus its bias."""
    return [sum((w * x for w, x in zip(row, xs)), row[-1]) for row in layer]


def score(network, xs):
    hidden, output = network
    return weigh(output, [h.tanh() for h in weigh(hidden, xs)])[0]


# %% [markdown] slideshow={"slide_type": "subslide"}
# The loss must fall when scores move to the correct side of 0. For a point of the lower moon with the score s we take
# ln(1 + e⁻ˢ), and for one of the upper moon ln(1 + eˢ). Both are near 0 far on the correct side, and grow steadily on
# the wrong side. The loss of the network is the mean over all points, so its graph has every operation for every point.
#
# How many values is that, for 60 points and 33 parameters (8 × 3 in the neurons, 9 in the last row)?

# %% slideshow={"slide_type": "fragment"}
Predict("values in the graph", "How many?", options=["under 100", "100 to 1,000", "1,000 to 10,000", "over 10,000"])


# %% slideshow={"slide_type": "fragment"}
def loss_on_moons(network):
    losses = []
    for xs, label in zip(points.tolist(), labels.tolist()):
        s = score(network, xs)
        losses.append((1 + (-s if label == 1 else s).exp()).log())
    return sum(losses) / len(losses)


network = new_network()
graph = history(loss_on_moons(network))
reveal_range("values in the graph", len(graph), 100, 1000, 10_000)

# %% slideshow={"slide_type": "fragment"}
print("values:", len(graph))

# %% [markdown] slideshow={"slide_type": "fragment"}
# Each point needs its own copy of every operation in the network. Only the parameters are shared. So 60 arrows leave
# each parameter, and its gradient is a sum over 60 points: this is where gradients that add earn their keep. Each step
# of training builds this graph, walks it backwards, and drops it.

# %% [markdown] slideshow={"slide_type": "notes"}
# Several thousand values for eight neurons and sixty points. Count the operations of one neuron on the board, then
# multiply.


# %% slideshow={"slide_type": "subslide"}
def train_on_moons(learning_rate, steps, clear=True):
    """Train a new network, and return it with its loss at each step."""
    network = new_network()
    parameters = [p for layer in network for row in layer for p in row]
    curve = []
    for _ in range(steps):
        loss = loss_on_moons(network)
        if clear:
            for p in parameters:
                p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= learning_rate * p.grad
        curve.append(loss.data)
    return network, curve


network, curve = train_on_moons(learning_rate=1.5, steps=200)

# %% slideshow={"slide_type": "fragment"}
right = sum((score(network, xs).data > 0) == (label == 1) for xs, label in zip(points.tolist(), labels))
print(f"loss: {curve[0]:.2f} before, {curve[-1]:.2f} after; {right} of {len(points)} points on the correct side")
ax = plt.figure(figsize=(5, 3.2)).subplots()
x0s, x1s = np.linspace(-1.5, 2.5, 41), np.linspace(-1, 1.5, 26)
scores = [[score(network, [x0, x1]).data for x0 in x0s.tolist()] for x1 in x1s.tolist()]
ax.contourf(x0s, x1s, scores, levels=[-1e9, 0, 1e9], colors=["C0", "C1"], alpha=0.25)
ax.plot(*upper, "o", *lower, "s")
plt.show()

# %% [markdown] slideshow={"slide_type": "fragment"}
# *The plot: the plane in two colours, their border a wave between the moons.*
#
# Nobody showed the network this border. It had sixty points, and a slope for each of its 33 numbers, 200 times.

# %% [markdown] slideshow={"slide_type": "notes"}
# While it trains, ask what the border could look like with two neurons instead of eight.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The forgotten clearing
#
# **Where it breaks.** `backward()` adds to `.grad`. If you leave out the clearing, each step follows the sum of all
# gradients so far. Take (w − 3)² again, with the harmless learning rate 0.1. What is w doing now?

# %% slideshow={"slide_type": "fragment"}
Predict("not cleared", "What is w doing now?", options=["settling", "swinging forever", "running away"])

# %% slideshow={"slide_type": "fragment"}
cleared = descend(mg.Value(0.0), learning_rate=0.1, steps=200)
not_cleared = descend(mg.Value(0.0), learning_rate=0.1, steps=200, clear=False)
reveal_range("not cleared", max(abs(w - 3) for w in not_cleared[-15:]), 1, 4)

# %% slideshow={"slide_type": "fragment"}
ax = plt.figure(figsize=(6, 2.6)).subplots()
ax.plot(cleared[:60], ".-", color=BLUE, label="cleared")
ax.plot(not_cleared[:60], ".-", color=VERMILION, label="not cleared")
ax.set(xlabel="step", ylabel="w", title="The same rate, cleared and not cleared")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown] slideshow={"slide_type": "fragment"}
# *The plot: cleared, w rises to 3 and stays there. Not cleared, it goes on to 6, back to 0, and again, like a wave.*
#
# While w is below 3, the sum of the gradients grows. Beyond 3 the gradients have the other sign and use the sum up,
# until w turns round at 6. It is like a ball in a bowl without friction. Every single gradient was right.

# %% [markdown] slideshow={"slide_type": "notes"}
# A ball in a bowl without friction: let a pen swing between two fingers. The surprise in the notebook, left out here,
# is that on the moons the slip makes the loss smaller.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### And on the moons?
#
# Before you run the cell, say whether the loss of the moons will be higher or lower than with clearing.

# %% slideshow={"slide_type": "skip"}
forgotten = train_on_moons(learning_rate=1.5, steps=200, clear=False)[1]
print(f"loss after 200 steps: cleared {curve[-1]:.2f}, not cleared {forgotten[-1]:.2f}")

# %% [markdown] slideshow={"slide_type": "skip"}
# *Lower.* On an easy task the gathered speed helps. That is why this mistake can stay unnoticed for a long time: a
# falling loss does not prove that the gradients are what you think.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the same network on arrays, watched while it learns
#
# Train the moons again, on arrays, in a view that you can stop, and see the path over the **loss surface**: the loss as
# a height over all parameters.

# %% [markdown] slideshow={"slide_type": "skip"}
# First one neuron with two inputs, as the graph of Values that it is. Which boxes are parameters?

# %% slideshow={"slide_type": "skip"}
from minigrad.core.node import toposort
from minigrad.widgets import TrainingView

x0, x1 = mg.Value(1.0), mg.Value(0.5)
w0, w1, b = mg.Value(0.7), mg.Value(-1.2), mg.Value(0.1)
neuron = (w0 * x0 + w1 * x1 + b).tanh()
mg.draw(neuron)

# %% [markdown] slideshow={"slide_type": "skip"}
# Thousands of values, each a Python object: that is the price of single numbers. Here the nodes are arrays, which
# `mg.tensor` makes. `Linear(2, 8)` is a layer of 8 neurons on 2 inputs; it weighs all 60 points with one matrix
# multiplication. `Sequential` puts one layer after another. The loss is the same as above. Its name here, as in
# PyTorch, is `binary_cross_entropy_with_logits`.

# %% slideshow={"slide_type": "fragment"}
inputs, targets = mg.tensor(points), mg.tensor(labels.reshape(60, 1).astype(float))
loss_fn = mg.nn.functional.binary_cross_entropy_with_logits


def new_moons_model():
    rng = np.random.default_rng(0)
    return mg.nn.Sequential(mg.nn.Linear(2, 8, rng=rng), mg.nn.Tanh(), mg.nn.Linear(8, 1, rng=rng))


model = new_moons_model()
loss = loss_fn(model(inputs), targets)
mg.draw(loss)

# %% [markdown] slideshow={"slide_type": "fragment"}
# Fourteen boxes. Each is a whole array, with its shape written in it; *norm* is the length of its numbers taken as one
# vector. An *affine* box is a whole layer: the inputs times the weights, plus the biases. *ln σ* of a score s is
# −ln(1 + e⁻ˢ). The box #1 is 0 for a point of the lower moon and 1 for one of the upper. So #1 × s − ln σ is the loss
# of a point, for both moons. The chain rule is still the one you stepped through.
#
# With 6,000 points instead of 60, the scalar graph would have a hundred times as many values. And this one? Write down
# a number before you run the cell.

# %% slideshow={"slide_type": "fragment"}
many_points, many_labels = mg.data.moons(6000, noise=0.1, seed=0)
many_targets = mg.tensor(many_labels.reshape(6000, 1).astype(float))
print("nodes for 6,000 points:", len(toposort(loss_fn(model(mg.tensor(many_points)), many_targets).node)))

# %% [markdown] slideshow={"slide_type": "fragment"}
# The boxes are larger, but their number stays the same. That is why large data does not drown Python. (`toposort` finds
# the nodes of arrays, as `history` finds Values.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Have somebody find the four parameters in the drawing, and say which of them are biases.

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Watch it learn
#
# The loop is the one from the start of the lesson, with PyTorch's names for its parts: `optimizer.zero_grad()` clears,
# then come `loss.backward()` and `optimizer.step()`. `TrainingView` runs it 20 steps a second, so that you can watch.
# Its slider sets the learning rate while the network trains.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "fragment"}
optimizer = mg.optim.SGD(model.parameters(), lr=1.5)
view = TrainingView(model, loss_fn, (inputs, targets), optimizer, speed=20)
view.run(300)

# %% [markdown] slideshow={"slide_type": "fragment"}
# At 1.5 the loss falls at once, rests near 0.28 for some forty steps, and falls again. Watch the border: while the loss
# rests, the border is nearly a straight line. Then it bends.
#
# For one number, a learning rate of 1.1 was too much. The slider goes up to 18. If a new network is trained at 18 from
# the first step, where is its loss after 300 steps: under 0.1, 0.1 to 1, or over 1? No rule in this lesson tells you.


# %% slideshow={"slide_type": "fragment"}
def path_on_moons(learning_rate, steps):
    """Train a new network; return its 33 parameters before each step, and its losses."""
    model = new_moons_model()
    optimizer = mg.optim.SGD(model.parameters(), lr=learning_rate)
    path, losses = [], []
    for _ in range(steps):
        path.append(mg.nn.utils.parameters_to_vector(model.parameters()).numpy())
        loss = loss_fn(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(path), losses


losses = path_on_moons(18, 300)[1]
print(f"at 18: {losses[0]:.2f} at first, {max(losses):.1f} at most, {losses[-1]:.2f} at last")

# %% [markdown] slideshow={"slide_type": "fragment"}
# It jumps, and then it settles. The first steps throw the parameters so far that nearly every tanh is at one of its
# flat ends, near −1 or 1. Slopes are small there, so this loss does not run away as (w − 3)² does, which only gets
# steeper. Nothing guarantees that it settles; here it does. To see it, make a new model and a new view, and drag the
# rate to its right end at once.

# %% [markdown] slideshow={"slide_type": "notes"}
# Let the view run once without a word. Then ask at which step the border bends, and go there with the slider of the
# steps.

# %% [markdown] slideshow={"slide_type": "skip"}
# #### The landscape that it walked through
#
# The loss surface of this network lies over 33 numbers, and training at 1.5 walked from one point of it to another. A
# picture has room for two directions, not for 33. So we take three points of the path: its start, its end, and the one
# that strays farthest from the straight line between them. A plane goes through the three, and `height` is the loss at
# a point of that plane.

# %% tags=["nbval-ignore-output"] slideshow={"slide_type": "fragment"}
path, losses = path_on_moons(1.5, 300)
straight = path[-1] - path[0]
along = straight / np.linalg.norm(straight)
astray = path - path[0] - np.outer((path - path[0]) @ along, along)  # from the straight line to each point
farthest = astray[np.linalg.norm(astray, axis=1).argmax()]
across = farthest / np.linalg.norm(farthest)
walker = new_moons_model()


def height(x, y):
    """The loss at a point of the plane, whose origin is the end of the path."""
    place = path[-1] + x.item() * along + y.item() * across
    mg.nn.utils.vector_to_parameters(mg.tensor(place), walker.parameters())
    return loss_fn(walker(inputs), targets)


in_the_plane = ((path - path[-1]) @ np.stack([along, across]).T).round(3)
GradientDescent(height, path=in_the_plane[::10], low=(-14, -8), high=(10, 8))

# %% [markdown] slideshow={"slide_type": "fragment"}
# There is a point for every ten steps of training, and bluer is higher. In some twenty steps the ball comes down a
# slope to the end of a valley. There it turns, and goes so slowly that its points touch: this is where the loss rests
# and the border is straight. Then it follows the floor of the valley, which was still falling where we stopped. We see
# nothing of the other 31 directions, but the path hardly uses them.

# %% [markdown] slideshow={"slide_type": "notes"}
# Cover the path and ask where a ball from (−10, 0) will go. A ball that follows the gradient crosses the contours at
# right angles, in all 33 directions; in a plane through them it need not look so.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Handwritten digits
#
# Here are nearly two hundred of each digit, written by hand, as 8 × 8 pixels from 0 (paper) to 1 (ink). We learn from
# four fifths of them, and hold back the rest to judge the result.

# %% slideshow={"slide_type": "fragment"}
digits = mg.data.digits()
row = np.hstack([digits.train_x[digits.train_y == digit][0].reshape(8, 8) for digit in range(10)])
plt.figure(figsize=(10, 1.2)).subplots().imshow(row, cmap="gray_r")
plt.show()

# %% [markdown] slideshow={"slide_type": "fragment"}
# *The plot: the digits 0 to 9 in a row, coarse, in shades of grey.*
#
# Thousands of values for 60 points, each a Python object: that is the price of single numbers. From here on a node is a
# whole array, which `mg.tensor` makes; lesson 04 says how gradients pass through it. `Linear(64, 64)` is a layer of 64
# neurons on 64 inputs. `ReLU` bends: x above 0, and 0 below. `Linear(64, 10)` makes 10 scores, one for each digit.
# `SGD` holds the parameters: `zero_grad()` clears them, and `step()` moves them.
#
# Scores become probabilities by **softmax**: e to the score, divided by the sum of that over all ten. The loss,
# `cross_entropy`, is −ln of the probability of the right digit. Each step looks at 32 images, a **mini-batch**. One
# pass over all images is an **epoch**.


# %% slideshow={"slide_type": "subslide"}
def train(epochs, clear=True):
    """Train a new network on the digits, and return it."""
    rng = np.random.default_rng(0)
    model = mg.nn.Sequential(mg.nn.Linear(64, 64, rng=rng), mg.nn.ReLU(), mg.nn.Linear(64, 10, rng=rng))
    optimizer = mg.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(epochs):
        for x, y in mg.data.batches(digits.train_x, digits.train_y, 32, rng):
            loss = mg.cross_entropy(model(mg.tensor(x)), y)
            if clear:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


model = train(epochs=15)

# %% [markdown] slideshow={"slide_type": "fragment"}
# How many per cent of the digits that it has never seen does it read correctly? Picking at random would get 10 % right.
# Say a number before you run the cell.


# %% slideshow={"slide_type": "fragment"}
def accuracy(model, x, y):
    with mg.no_grad():  # nothing is recorded, because nobody will ask for a gradient
        return float((model(mg.tensor(x)).numpy().argmax(axis=1) == y).mean())


unseen = accuracy(model, digits.test_x, digits.test_y)
print(f"{unseen:.0%} of the {len(digits.test_y)} digits that it has never seen")

# %% [markdown] slideshow={"slide_type": "fragment"}
# Two layers and a few seconds of training, and it reads handwriting. Nobody wrote a rule for what a 7 looks like.

# %% [markdown] slideshow={"slide_type": "notes"}
# Guesses run from 60 to 99. Ask why the digits that it learned from are the wrong ones to judge it by; then show some
# that it misreads.

# %% [markdown] slideshow={"slide_type": "skip"} folded=true
# ### Further: the digits that it misreads, and the engine that you wrote
#
# The cell shows at most ten of them.


# %% slideshow={"slide_type": "skip"}
def show_digits(images, titles):
    axes = plt.figure(figsize=(1.1 * len(images), 1.6), layout="constrained").subplots(1, len(images), squeeze=False)
    for ax, image, title in zip(axes[0], images, titles):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set_title(title, fontsize=10)
        ax.set_axis_off()


print(f"on the digits it learned from: {accuracy(model, digits.train_x, digits.train_y):.0%}")
with mg.no_grad():
    answers = model(mg.tensor(digits.test_x)).numpy().argmax(axis=1)
wrong = np.flatnonzero(answers != digits.test_y)[:10]
show_digits(digits.test_x[wrong], [f"{digits.test_y[i]}, read {answers[i]}" for i in wrong])

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plots: the digits that it misread, each under "what was written, read as what". You might misread several of them
# yourself.*

# %% [markdown] slideshow={"slide_type": "skip"}
# #### The engine that you wrote
#
# In exercise 01 you wrote a product that remembers, an order, and a walk backwards. `mine` puts operators around them,
# so that they work like `mg.Value`, and the moons train on them. Until `check` has passed all three, the course's own
# pieces run here.

# %% slideshow={"slide_type": "skip"}
from minigrad.course.mine import mine

for name, Value in {"mg.Value": mg.Value, "the Value of exercise 01": mine("01", "Value")}.items():
    moons = [[[Value(p.data) for p in row] for row in layer] for layer in new_network()]
    for _ in range(20):
        moons_loss = loss_on_moons(moons)
        for p in (p for layer in moons for row in layer for p in row):
            p.grad = 0.0
        moons_loss.backward()
        for p in (p for layer in moons for row in layer for p in row):
            p.data -= 1.5 * p.grad
    print(f"loss after 20 steps on {name}: {moons_loss.data:.6f}")

# %% [markdown] slideshow={"slide_type": "fragment"}
# ### The forgotten clearing, on digits
#
# On the moons, the forgotten clearing made the loss smaller. Does it help here too? Remember that picking at random
# gets 10 % right.

# %% slideshow={"slide_type": "fragment"}
careless = train(epochs=15, clear=False)
careless_unseen = accuracy(careless, digits.test_x, digits.test_y)
print("better than 95 %:", careless_unseen > 0.95, "  better than 20 %:", careless_unseen > 0.2)

# %% [markdown] slideshow={"slide_type": "fragment"}
# The slip that looked like a gift on the moons ruins this network. So we clear. If you want the speed, ask for
# it by its name, *momentum*: each step then keeps a part of the step before, and you choose how large a part.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: when training is interrupted
#
# What a training program saves, so that a machine may fail.

# %% [markdown] slideshow={"slide_type": "skip"}
# Large networks train for weeks, and machines fail. So a training program regularly writes a *checkpoint*: the
# parameters, the state of the optimiser (such as the last step, for momentum), and the number of the step. To resume,
# it loads all three and goes on as if nothing had happened. Here, as in PyTorch, these are `model.state_dict()`,
# `optimizer.state_dict()` and a plain number, and `load_state_dict` puts the first two back. Without the optimiser's
# state, momentum would start again from rest. (Lesson 21 uses the same word for something else.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Close with the three fates of one slip: it helped on the moons, swung forever on one number, and ruined the digits.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory. When all answers are locked, you see which are right.

# %% slideshow={"slide_type": "skip"}
Quiz("03_train_a_network")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# The words of this lesson in PyTorch, TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow 2 (Keras) | JAX |
# |---|---|---|---|
# | `mg.nn.Linear(64, 10)` | `torch.nn.Linear(64, 10)` | `Dense(10)` of Keras | `x @ W + b`, or Flax |
# | `mg.cross_entropy` | `torch.nn.functional.cross_entropy` | `SparseCategoricalCrossentropy` | `optax` has one |
# | `loss.backward()` | the same | `tape.gradient(loss, variables)` | `jax.grad(loss_function)(params)` |
# | `optimizer.zero_grad()` | the same | not needed: gradients are new | not needed: gradients are new |
# | `optimizer.step()` | the same | `optimizer.apply_gradients(...)` | `optax.apply_updates(...)` |
# | `with mg.no_grad():` | `with torch.no_grad():` | compute outside any tape | do not ask for `grad` |
# | `model.state_dict()` | the same | `model.get_weights()` | `params` is plain data |
#
# Keras's loss needs `from_logits=True`, or it takes the scores for probabilities. Optax gives a loss for each example:
# take the mean.
#
# ### The same in PyTorch
#
# The loss is (w − 3)² again, and we print every third w. At the rate 0.1 it settles, at 1.1 it runs away, and without
# `zero_grad` it swings.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def descend_in_pytorch(torch):
    """
    rate 0.1, cleared: 0.0 1.5 2.2 2.6 2.8 2.9 2.9
    rate 1.1, cleared: 0.0 8.2 -6.0 18.5 -23.7 49.2 -76.9
    rate 0.1, not cleared: 0.0 3.0 6.0 4.3 0.5 0.7 4.4
    """
    for rate, clear in [(0.1, True), (1.1, True), (0.1, False)]:
        w = torch.tensor(0.0, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=rate)
        path = []
        for _ in range(20):
            path.append(w.item())
            loss = (w - 3) ** 2
            if clear:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"rate {rate}, {'cleared' if clear else 'not cleared'}:", " ".join(f"{w:.1f}" for w in path[::3]))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Gradient descent is forward, clear, backward, step. The learning rate decides whether it creeps, settles or runs
#   away.
# - A parameter that serves many examples gets the sum of their gradients: fan-out again.
# - A forgotten clearing gathers speed. It may help, swing, or ruin; a falling loss alone does not show which.
# - A network is judged by examples that it has not learned from.
#
# **Sources.** D. E. Rumelhart, G. E. Hinton, R. J. Williams, *Learning representations by back-propagating errors*,
# Nature 323 (1986), 533-536: equation 8 is the step against the gradient, equation 9 momentum. B. T. Polyak, *Some
# methods of speeding up the convergence of iteration methods*, USSR Computational Mathematics and Mathematical Physics
# 4 (1964), 1-17: where momentum comes from. E. Alpaydin, C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI
# Machine Learning Repository (1998), [doi:10.24432/C50P49](https://doi.org/10.24432/C50P49), CC BY 4.0: the digits.
#
# **Exercise.** [03 A new op](../exercises/03_a_new_op.ipynb): teach the engine operations that it does not have.
#
# **To go on by yourself.** Change something: eight neurons to two, or the rate to 5. Write down first what you expect.
#
# **Next:** [04 A whole array is one node](04_tensors.ipynb): what changes when a node is a whole array?
