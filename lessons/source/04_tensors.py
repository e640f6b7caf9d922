# ---
# jupyter:
#   minigrad:
#     title: A whole array is one node
#     minutes: 30
#     objectives:
#       - read a graph whose nodes are arrays, and say which scalar graph it stands for
#       - derive the gradient of a broadcast, a sum and a matrix product from the scalar graph
#       - write the gradients of a linear layer by hand, and train it with them
#       - find a silent broadcast that trains wrongly
#     concepts: [A5, B2]
#     builds_on: [03_train_a_network]
#     widgets: [ChainRule]
#     terms:
#       tensor: An array of numbers of one kind that remembers which operation made it, and can collect a gradient
#       shape: How many numbers an array has along each of its axes, written (rows, columns) for two axes
#       axis: One of the directions in which the numbers of an array are counted, numbered from 0
#       dtype: What kind of number an array is made of, such as float64, float32 or int64
#       elementwise: Said of an operation that makes each number of its result only from the numbers at the same place
#       broadcasting: Using a number at several places where its array is shorter than its partner, or has fewer axes
#       adjoint: The way back through a linear operation, which is the matrix of that operation transposed
#       convolution: Sums of products of a few weights with the numbers at each place of an array, the same weights at
#         every place
#       view: An array that looks at another array's numbers in memory and has none of its own
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 04 A whole array is one node
#
# > UserWarning: Using a target size (torch.Size([100])) that is different to the input size (torch.Size([100, 1])).
# > This will likely lead to incorrect results due to broadcasting.
#
# PyTorch says this once and then trains on, towards a model that gives the same answer to every question. At the end of
# this lesson you will train that model, and you will find that none of its gradients is wrong.
#
# In lesson 03 sixty points took thousands of nodes as scalars, and you could follow every arrow. With arrays there is a
# handful of nodes. **Where have the arrows gone, and what adds up the gradients that they bring back?**
#
# The lesson covers the rules that a linear layer needs: elementwise operations, broadcasting, sums and the matrix
# product. None of them is new: each is a scalar graph, handled in bulk.
#
# **About 30 minutes.** Afterwards you can
#
# - read a graph of arrays, and say which scalar graph it stands for;
# - derive the gradient of a broadcast, a sum and a matrix product from the scalar graph;
# - write the gradients of a linear layer by hand, and train it with them;
# - find a silent broadcast that trains wrongly.
#
# **Builds on** [03 Train a network](03_train_a_network.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): `+`; *affine*; *reshape*, *transpose*.
# (*reshape* is in an optional section.)

# %% [markdown] slideshow={"slide_type": "notes"}
# One minute. Ask before anything else: "In lesson 03, where did the gradients of 60 points meet?" (In the weight they
# share.) That answer, fan-out, is the answer to most of what follows; let the room find it again three times.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.course.plots import follow_theme
from minigrad.core.node import toposort
from minigrad.scalar.value import history
from minigrad.widgets import ChainRule

follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Many nodes, or one
#
# Multiply x = [1, 2, 3] by y = [4, 5, 6], pair by pair, and add up the products. We draw it twice: with a node for
# each number, and with a node for each array.


# %%
def scalar_graph(n):
    """Two lists of n Values, and the sum of their products."""
    xs, ys = [mg.Value(i) for i in range(1, n + 1)], [mg.Value(n + i) for i in range(1, n + 1)]
    return xs, ys, sum(x * y for x, y in zip(xs, ys))


def array_graph(n):
    """Two tensors of n numbers, and the sum of their products."""
    x, y = (mg.tensor(np.arange(start, start + n, dtype=float), requires_grad=True) for start in (1, n + 1))
    return x, y, (x * y).sum()


xs, ys, total = scalar_graph(3)
x, y, loss = array_graph(3)
display(mg.draw(total), mg.draw(loss))

# %% slideshow={"slide_type": "fragment"}
for n in (3, 100, 1000):
    scalars, arrays = len(history(scalar_graph(n)[2])), len(toposort(array_graph(n)[2].node))
    print(f"{n:5} pairs: {scalars:5,} nodes for scalars, {arrays} for arrays")
total.backward()
loss.backward()
print("scalars:", [v.grad for v in xs], [v.grad for v in ys])
print("arrays: ", x.grad, y.grad)

# %% [markdown]
# Each pair adds four nodes to the graph of scalars: two leaves, a product and an addition. In the second drawing the
# three x have become one box, and so have the three y, the three products and the additions. The arithmetic is the
# same, and so are the gradients in the last two lines above. Python makes one call for each operation, so a thousand
# pairs take two calls instead of two thousand. (`toposort` finds the nodes of arrays, as `history` finds Values.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Draw one arrow on the board through the picture of the scalars, then ask where it is in the picture of
# arrays. People say "it is gone"; insist that it is inside the box, together with two others.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a tensor knows
#
# A **tensor** is an array of numbers that remembers where it came from. Its **shape** says how many numbers there are
# along each **axis**, and its **dtype** says what kind of number they are. A single number has the shape `()`: no axes.
# In drawings, `f64[2, 3]` is short for an array of float64 numbers with two rows and three columns.
#
# ×, +, tanh and the like are **elementwise**: the number at place i of the result is made only from the numbers at
# place i. In the scalar graph these are separate little graphs, and no arrow crosses from one to another. So the local
# slopes are an array of the same shape, and incoming × local = outgoing is one product of arrays.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: what arrays save, and what a tensor knows about itself
#
# Time both graphs, read the names that PyTorch gives to a tensor's past, and start a walk back in the middle. You can
# follow the lesson without this section.

# %% [markdown] slideshow={"slide_type": "skip"}
# Inside the one call for ×, a loop in machine code does the thousand products. On most machines arrays are over twenty
# times as fast. They save not arithmetic but Python's work around it.
#
# (A busy machine blurs every timing, so `in_turns` lets both take turns for several rounds. Where the rounds disagree,
# the line says *somewhere between*: then this run cannot tell.)

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
from minigrad.course.stopwatch import in_turns


def forward_and_backward(make):
    make(1000)[2].backward()


times = in_turns(scalars=lambda: forward_and_backward(scalar_graph), arrays=lambda: forward_and_backward(array_graph))
print(f"1,000 pairs, forward and backward: arrays are {times['scalars'] / times['arrays']:.0f} times as fast")

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Its past
#
# `grad_fn` is the operation that made the tensor, as the walk back will meet it, and `next_functions` leads on to the
# operations before that. They are the `op` and the `parents` of a Value under PyTorch's names. No operation made a
# leaf, so its `grad_fn` is None.
#
# You ask for a gradient with `requires_grad=True`, but integers cannot have one. The last lines below say so: `i64[3]`
# is short for dtype int64 and shape (3,).

# %% slideshow={"slide_type": "skip"}
import textwrap

product = x * y
for name, t in {"x": x, "product": product, "loss": product.sum()}.items():
    facts = f"shape {str(t.shape):4}  {t.dtype}  leaf: {t.is_leaf!s:5}  made by {t.grad_fn}"
    print(f"{name:7}  {facts}")
print("before the sum:", product.sum().grad_fn.next_functions, "(0: its first result)", end="\n\n")
try:
    mg.tensor([1, 2, 3], requires_grad=True)
except mg.errors.DTypeError as error:
    print(textwrap.fill(str(error), 90))

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Operations number by number
#
# A walk back usually starts with a 1 at one number. Here we start it in the middle: `gradient=` says what has arrived
# at each element of y, as if further operations had sent it. (`detach` returns the numbers without their history.)

# %% slideshow={"slide_type": "skip"}
x = mg.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
arriving = mg.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
y = x**2
y.backward(gradient=arriving)
print("incoming   ", arriving)
print("local slope", (2 * x).detach())
print("x.grad     ", x.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When shapes differ
#
# Take X of shape (4, 3) and b of shape (3,). In X + b the three numbers of b are added to each of the four rows of X.
# This is **broadcasting**. Now add up all twelve numbers of X + b and walk back. What is in `b.grad[0]`?

# %%
Predict("b.grad[0]", "What is b.grad[0] after (X + b).sum().backward()?")

# %%
X = mg.tensor(np.arange(12.0).reshape(4, 3), requires_grad=True)
b = mg.tensor([100.0, 200.0, 300.0], requires_grad=True)
(X + b).sum().backward()
reveal("b.grad[0]", b.grad[0])

# %% slideshow={"slide_type": "fragment"}
print("X + b =", X + b)
print("b.grad has shape", b.grad.shape, "and is", b.grad)
b0, column = mg.Value(100.0), [mg.Value(0.0), mg.Value(3.0), mg.Value(6.0), mg.Value(9.0)]
mg.draw(sum([v + b0 for v in column[1:]], column[0] + b0))

# %% [markdown]
# There is only one b[0], and it is used four times. The drawing is the scalar graph of the first column of X + b, added
# up: four arrows leave b[0], each brings back a 1, and they add. It is fan-out again, as with the 60 points of
# lesson 03. **Forwards, broadcasting copies; backwards, the gradients of the copies add up.** So a gradient always has
# the shape of its leaf, whatever shape came back to it.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Instead of 4 many guess 1 (the slope) or 12 (all elements). Both are one question away from being right:
# "through how many additions does b[0] go?" Do not give the rule for shapes before the reason for the sum.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Which shapes go together?
#
# Line the shapes up on the right. Two axes fit if they are equal, or if one of them is 1 or missing: then that one is
# stretched. So (4, 1) and (3,) give (4, 3), and both are stretched.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the way back through any broadcast
#
# A function of three lines, compared with the engine.

# %% [markdown] slideshow={"slide_type": "skip"}
# On the way back, an axis that was stretched has to go again, and adding up along it removes it. `sum(axis=0)` adds the
# four rows of X up into one. With `keepdims=True` the axis stays, with length 1. That is all we need for the gradient
# of any broadcast: `sum_to` below adds up over every axis along which the array was stretched.


# %% slideshow={"slide_type": "skip"}
def sum_to(g, shape):
    """g, added up over the axes along which an array of this shape was stretched."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))  # axes that were missing, on the left
    stretched = tuple(axis for axis, n in enumerate(shape) if n == 1)
    return g.sum(axis=stretched, keepdims=True)


for arguments in ({"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
    total = X.sum(**arguments)
    print(f"X.sum with {arguments}: shape {total.shape}, {total.tolist()}")
rng = np.random.default_rng(0)
for shape_u, shape_v in [((4, 3), (3,)), ((4, 1), (3,)), ((2, 4, 3), (4, 1)), ((5,), ())]:
    u, v = (mg.tensor(rng.normal(size=shape), requires_grad=True) for shape in (shape_u, shape_v))
    g = rng.normal(size=np.broadcast_shapes(shape_u, shape_v))
    (u + v).backward(gradient=g)
    agree = np.allclose(sum_to(g, shape_u), u.grad) and np.allclose(sum_to(g, shape_v), v.grad)
    print(f"{str(shape_u):9} + {str(shape_v):6} → {str(g.shape):9}  ours and the engine's agree: {agree}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sums, and the way back through them
#
# `sum` turns many numbers into one, each with the slope 1. So on the way back, each of them
# gets a copy of what arrived. (The mean of eight numbers is the sum divided by 8, so there each gets an eighth.) So sum
# and broadcast are each other's way back.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: adjoints, transposes and views
#
# Why sums and broadcasts come in pairs (**adjoint**), what `W.T` costs, and how a gradient finds its way home through a
# **view**, which is another way to look at the same numbers.

# %% [markdown] slideshow={"slide_type": "skip"}
# Sums and broadcasts are *linear*: each result is a sum of inputs, each times a fixed number. These fixed numbers make
# a table, the matrix A, with a row for each result. Forwards, y = A x goes along the rows: yᵢ is the sum of A[i, j] ·
# xⱼ over all j. So the arrow from xⱼ to yᵢ has the slope A[i, j]. On the way back, xⱼ adds up what comes along its
# arrows, which goes down a *column* of A. The table with these columns as its rows is the *transpose*, Aᵀ.
#
# So the way back through a linear y = A x is the transposed matrix, gx = Aᵀ gy. It is called the adjoint. For the sum
# of three numbers (`@` is the product of matrices, `.T` transposes):

# %% slideshow={"slide_type": "skip"}
A = np.ones((1, 3))
print("A, the sum:        ", A @ [5, 6, 7])
print("Aᵀ, three copies:  ", A.T @ [2])

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Transpose and reshape
#
# Transposing turns columns into rows. `reshape` reads the numbers off, row by row, into rows of another length. Take W
# of shape (1000, 1000): a million numbers of 8 bytes each. How many of these 8,000,000 bytes does `W.T`
# copy? Say a number before you run the cell.

# %% slideshow={"slide_type": "skip"}
W = mg.tensor(np.arange(1e6).reshape(1000, 1000), requires_grad=True)
copied = 0 if np.shares_memory(W.T.numpy(), W.numpy()) else W.numpy().nbytes
for name, t in {"W": W, "W.T": W.T, "W.reshape(-1)": W.reshape(-1), "W.T.reshape(-1)": W.T.reshape(-1)}.items():
    same = np.shares_memory(t.numpy(), W.numpy())
    print(f"{name:15}  shape {str(t.shape):12}  strides {str(t.numpy().strides):10}  looks at W's memory: {same}")
print(f"bytes copied by W.T: {copied:,}")

# %% [markdown] slideshow={"slide_type": "skip"}
# W.T computes nothing and copies nothing. The *strides* say how many bytes away the next number along each axis is, and
# transposing only swaps the two. (In `reshape`, −1 stands for as many as there are left.) The last line had to copy: no
# single stride leads down a column and then on to the next column.

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Views
#
# A view has no numbers of its own, so writing into it writes into W
# as well; lesson 06 shows how the engine keeps watch over that. Backwards a gradient moves home: through `reshape` by
# reshaping it back, through a transpose by transposing it back. Each number of x below gets the gradient that arrived
# at the place to which it had moved:

# %% slideshow={"slide_type": "skip"}
x = mg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
x.T.reshape(6).backward(gradient=mg.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
print("x.T.reshape(6):", x.T.reshape(6).detach().tolist())
print(x.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The matrix product, from its scalar graph
#
# In Z = X @ W, each number of Z is a row of X times a column of W. NumPy's `@` also works on arrays of Values, so we
# can look at the scalar graph. The drawing shows one of the four numbers of a 2 × 2 product. In the graph of all four
# together, how many arrows leave x00?

# %%
X = np.array([[mg.Value(1.0), mg.Value(2.0)], [mg.Value(3.0), mg.Value(4.0)]])
W = np.array([[mg.Value(5.0), mg.Value(6.0)], [mg.Value(7.0), mg.Value(8.0)]])
Z = X @ W
(x00, x01), (w00, w10), z00 = X[0], W[:, 0], Z[0, 0]
mg.draw(z00)

# %%
Predict("arrows from x00", "How many arrows leave x00 in the graph of the whole Z?")

# %%
G = np.array([[1.0, 10.0], [100.0, 1000.0]])  # what arrives at Z
loss = (Z * G).sum()
arrows = [(v, slope) for v in history(loss) for parent, slope in v.parents if parent is x00]
reveal("arrows from x00", len(arrows))

# %% slideshow={"slide_type": "fragment"}
loss.backward()
print("the slopes of these arrows:", [slope for _, slope in arrows], "  W[0]:", [w.data for w in W[0]])
print("x00.grad =", x00.grad)

# %% [markdown]
# x00 meets w00 on its way into z00, and w01 into z01: a whole row of W. So its gradient is that row, times
# what arrived at that row of Z, added up: 65 is 1 · 5 + 10 · 6.

# %% [markdown]
# ### The rule
#
# Products added up along a row: that is a matrix product again. With Σⱼ for "added up over all j", and Wᵀ for W with
# its rows and columns exchanged (`W.T`), the gradient of X is
#
# > gx[i, k] = Σⱼ gz[i, j] · w[k, j], which in matrices is gX = gZ Wᵀ.
#
# In the same way, down a column of X, the gradient of W is gW = Xᵀ gZ.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes, the heart of the lesson. Write z00 and z01 out on the board and circle x00 in both. If time is short,
# leave gW to the room: the same argument down a column.

# %% [markdown] slideshow={"slide_type": "subslide"}
# You need not remember which factor is transposed: *the shapes tell you*. Let X be (5, 3) and W (3, 2), so gZ is (5,
# 2). Of all products of gZ or gZᵀ with W or Wᵀ, only gZ Wᵀ has the shape of X. But when all sizes are equal, as in our
# 2 × 2, all of them fit, and shapes say nothing. **Test with sizes that differ.**

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the rule in numbers, a convolution, and what the way back costs
#
# Both products compared with the scalars; a **convolution**, whose weights are used at every place; and the cost of a
# training step.

# %% slideshow={"slide_type": "skip"}
numbers = np.vectorize(lambda v: v.data)
gradients = np.vectorize(lambda v: v.grad)
print("gX, from the scalars:", gradients(X).tolist(), "  G @ W.T:", (G @ numbers(W).T).tolist())
print("gW, from the scalars:", gradients(W).tolist(), "  X.T @ G:", (numbers(X).T @ G).tolist())

# %% [markdown] slideshow={"slide_type": "skip"}
# A convolution slides a few weights k along x, and takes the sum of products at each place. With three weights, the
# first result is x[0] · k[0] + x[1] · k[1] + x[2] · k[2], and the next one begins at x[1]. It is linear, like the
# matrix product. Each weight is used at every place, so on the way back it collects from all of them.

# %% [markdown]
# Six numbers have four places for three weights, and k[0] meets x[0] to x[3]. So its gradient is 0 + 1 + 2 + 3.

# %%
six_numbers = mg.tensor([[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]])  # one example, one channel, six numbers
k = mg.tensor([[[1.0, 0.0, -1.0]]], requires_grad=True)
y = mg.nn.functional.conv1d(six_numbers, k)
y.sum().backward()
print("y:", y.tolist(), "  k.grad:", k.grad.tolist())

# %% [markdown]
# Here are the eight products and their shapes. (The product with the shape of Xᵀ is gX too, transposed.)

# %%
gz, w = np.ones((5, 2)), np.ones((3, 2))
factors = {"gZ": gz, "gZᵀ": gz.T, "W": w, "Wᵀ": w.T}
pairs = [("gZ", "W"), ("gZ", "Wᵀ"), ("gZᵀ", "W"), ("gZᵀ", "Wᵀ")]
for left, right in pairs + [(b, a) for a, b in pairs]:
    fits = factors[left].shape[1] == factors[right].shape[0]
    print(f"{left:3} {right:3}", (factors[left] @ factors[right]).shape if fits else "does not fit")

# %% [markdown]
# What does the way back cost? Forwards, each × in Z is one multiplication. Backwards it has two arrows, and each is a
# multiplication. So one matrix product forward means two on the way back, and a training step costs about three times
# as much as a prediction.

# %%
products = [v for row in Z for z in row for v in history(z) if v.op == "×"]
print("multiplications forward:", len(products), "  backward:", sum(len(v.parents) for v in products))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A linear layer
#
# P = X W + b: each row of X is an example, W has the weights, and b has the biases. Step through it. In the backward
# phase, say the *shape* of what comes next before you press the key, and where something is added up.

# %%
X = mg.tensor([[1.0, -1.0], [0.0, 2.0], [0.5, 1.0]])
W = mg.tensor([[0.5, -1.0], [1.0, 0.5]], requires_grad=True)
b = mg.tensor([0.1, -0.2], requires_grad=True)
P = X @ W + b
loss = (P**2).mean()
ChainRule(loss)

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Turn on *ask me first* and let the room answer. The step to look at is the one at b: three rows arrive
# and one goes on.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Take paper before you read on. The errors are e = X W + b − t, and the loss is the mean of e². What goes back to e?
# From there to W, and to b? The last two lines of `by_hand` are our answer, and we compare it with the engine's.
# (The targets t come from a rule that we know: weights of 2 and −3, and a bias of 4.)

# %%
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 2))
t = X @ np.array([[2.0], [-3.0]]) + 4


def by_hand(X, t, W, b):
    """The loss, and its gradients by W and by b, on plain arrays."""
    e = X @ W + b - t
    loss = (e**2).mean()
    gp = 2 * e / e.size  # mean, then square
    return loss, X.T @ gp, gp.sum(axis=0)


W, b = mg.zeros(2, 1, requires_grad=True), mg.zeros(1, requires_grad=True)
((mg.tensor(X) @ W + b - t) ** 2).mean().backward()
loss, gW, gb = by_hand(X, t, np.zeros((2, 1)), np.zeros(1))
print("ours:        ", gW.ravel().round(4), gb.round(4))
print("the engine's:", W.grad.numpy().ravel().round(4), b.grad.numpy().round(4))

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: train with these gradients
#
# The layer has to find the rule, weights of 2 and −3 and a bias of 4, without the engine.

# %% slideshow={"slide_type": "skip"}
W, b = np.zeros((2, 1)), np.zeros(1)
for step in range(101):
    loss, gW, gb = by_hand(X, t, W, b)
    if step % 20 == 0:
        print(f"step {step:3}  loss {loss:7.4f}  W {np.round(W.ravel(), 3)}  b {np.round(b, 3)}")
    W, b = W - 0.1 * gW, b - 0.1 * gb

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same answer to every question
#
# **Where it breaks.** The same data and the same layer, with one difference: somebody stored the targets t as a
# plain list of 100 numbers, shape (100,). The predictions p have the shape (100, 1). What is the shape of p − t?

# %%
Predict("p minus t", "What is the shape of p − t?", kind="shape")


# %%
def train(t, steps=300):
    W, b = mg.zeros(2, 1, requires_grad=True), mg.zeros(1, requires_grad=True)
    optimizer, curve = mg.optim.SGD([W, b], lr=0.1), []
    for _ in range(steps):
        p = mg.tensor(X) @ W + b
        loss = ((p - t) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return W, b, curve, p


flat = mg.tensor(t[:, 0])
W, b, curve, p = train(flat)
reveal("p minus t", (p - flat).shape)

# %% [markdown]
# No error: (100, 1) and (100,) fit, both are stretched, and every prediction is compared with *every* target.
# The loss falls and settles.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Is it a good gradient? We ask the referee of lesson 02, `gradcheck`, and plot what the layer has learned.

# %% slideshow={"slide_type": "fragment"}
ax = plt.figure(figsize=(4, 3.2)).subplots()
ax.plot(t[:, 0], p.detach().numpy()[:, 0], ".")  # detach: the numbers, without their history
ax.axline((0, 0), slope=1, color="gray", linestyle="--")
ax.set(xlabel="target", ylabel="prediction")
plt.show()
print("W.grad is not None:", W.grad is not None, "  its shape:", W.grad.shape)
print(f"loss: {curve[0]:.2f} at first, {curve[100]:.2f} after 100 steps, {curve[-1]:.2f} after 300")
print("gradcheck:", mg.gradcheck(lambda W, b: ((mg.tensor(X) @ W + b - flat) ** 2).mean(), (W, b)))
print("learned W:", W.detach().numpy().ravel().round(3) + 0.0, "  b:", b.detach().numpy().round(3))
print(f"the mean of all targets: {t.mean():.3f}, and their variance: {t.var():.2f}")

# %% [markdown]
# *The plot: predictions over targets, with a dashed diagonal on which both are equal. All points lie on a level line.*
#
# If a prediction is compared with all targets at once, the best it can be is their mean. The layer learned that.
# The loss that remains is the variance: the mean of the squared distances from the mean. Every gradient was
# exact, for a loss that nobody meant. The referee compares backward with the function that you *wrote*. **A gradient
# that is not None, has the right shape and passes the referee is still no better than its loss.**

# %% [markdown] slideshow={"slide_type": "fragment"}
# How could you have seen it in time? Look at the shape before `mean`: `(p - t).shape`. Or use a
# loss that refuses, as ours does here.

# %% slideshow={"slide_type": "fragment"}
try:
    mg.nn.functional.mse_loss(p, flat)
except mg.errors.ShapeError as error:
    print(error)

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Let the room defend the wrong run first: the loss falls, the gradient exists, gradcheck agrees. Then
# show the plot. PyTorch's mse_loss warns here and goes on; ours refuses.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the mistake in the drawing, and shape errors read aloud
#
# Find the wrong shape in a picture, and read three messages as sentences.

# %% [markdown] slideshow={"slide_type": "skip"}
# Draw the loss: `f64[100, 100]` at the minus gives it away. (The drawing shows a dot where it does not know the
# numbers. `mg.tensor(X)` has no name, so it is freed when the line ends. The drawing knows the shapes all the same.)

# %% slideshow={"slide_type": "skip"}
print("bytes of p − t:", (p - flat).numpy().nbytes, "instead of", (p - mg.tensor(t)).numpy().nbytes)
W0, b0 = mg.zeros(2, 1, requires_grad=True), mg.zeros(1, requires_grad=True)
mg.draw(((mg.tensor(X) @ W0 + b0 - flat) ** 2).mean())

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Shape errors, read aloud
#
# A shape error is a kind error: it stops you. Read each message as a sentence: *which operation needs which shapes, and
# which shapes did it get?* Then say, for each of the three, which axis is meant, and what you would write instead.
#
# <details><summary>What helps (open it after you have read the three)</summary>
#
# `X @ W.T`: both have 3 as their last axis, and a product needs it last in X and first in W. `X + b.reshape(4, 1)`: b
# has one number for each row, so its axis must stand on the left, with a 1 on the right. `X.reshape(6, 2)`, or `(-1,
# 2)`, which leaves the counting to the engine: twelve numbers stay twelve.
# </details>

# %% slideshow={"slide_type": "skip"}
X, W, b = mg.ones(4, 3), mg.ones(2, 3), mg.ones(4)
for line in ("X @ W", "X + b", "X.reshape(5, 2)"):
    try:
        eval(line)
    except mg.errors.ShapeError as error:
        print(textwrap.fill(f"{line}: {error}", 96, subsequent_indent="    "), end="\n\n")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you know now?

# %% slideshow={"slide_type": "skip"}
Quiz("04_tensors")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# The words of this lesson in PyTorch, TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|
# | `x.shape`, `x.dtype` | the same | the same | the same |
# | `x.grad_fn`, `x.is_leaf` | the same | the tape knows, `x` does not | a function is traced; `x` does not know |
# | `y.backward(gradient=g)` | the same | `tape.gradient(y, x, output_gradients=g)` | `jax.vjp(f, x)[1](g)` |
# | `x.sum(axis=0)`; `dim=0` works too | `x.sum(dim=0)` | `tf.reduce_sum(x, axis=0)` | `x.sum(axis=0)` |
# | `W.T` is a view | the same | `tf.transpose(W)`, a copy | `W.T`, a new array |
# | `mse_loss` refuses (n, 1), (n,) | it warns, and goes on | Keras makes them equal | `optax.squared_error` refuses |
#
# All four broadcast by the same rule, NumPy's.
#
# ### The same in PyTorch
#
# PyTorch gives the warning from the top of this lesson, and then trains on: every prediction becomes the mean of all
# targets, and the loss that remains is their variance.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def one_answer_to_all(torch):
    """
    shape of p - t: (4, 4)
    warned: True   loss: 3.5   p: [3.0, 3.0, 3.0, 3.0]
    """
    import warnings

    t = torch.tensor([1.0, 2.0, 3.0, 6.0])
    p = torch.zeros(4, 1, requires_grad=True)
    print("shape of p - t:", tuple((p - t).shape))
    optimizer = torch.optim.SGD([p], lr=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(50):
            loss = torch.nn.functional.mse_loss(p, t)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("warned:", len(caught) > 0, "  loss:", round(loss.item(), 3), "  p:", [round(x, 3) for x in p[:, 0].tolist()])


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - An array as a node is a scalar graph in bulk: a few calls instead of thousands, and the same gradients.
# - Elementwise: incoming × local, place by place. Broadcasting copies, and its gradient adds up over the axes that were
#   stretched.
# - gX = gZ Wᵀ and gW = Xᵀ gZ, from the scalar graph; shapes confirm it, if the sizes differ.
# - A shape that fits by chance gives exact gradients of the wrong loss.
#
# **Sources.** S. van der Walt, S. C. Colbert, G. Varoquaux, *The NumPy array: a structure for efficient numerical
# computation*, Computing in Science and Engineering 13 (2011), 22-30: strides, views and broadcasting. M. B. Giles, *An
# extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation*, Oxford
# University NA-08/01 (2008), section 2.2.2: the two products of the gradient.
#
# **Exercise.** [04 Shapes and gradients](../exercises/04_shapes_and_gradients.ipynb): predict shapes, write the way
# back through a layer, and repair a loss that trains wrongly.
#
# **Next:** [05 Two directions](05_two_directions.ipynb) sends derivatives forwards as well.
