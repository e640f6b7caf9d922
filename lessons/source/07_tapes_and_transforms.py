# ---
# jupyter:
#   minigrad:
#     title: Tapes and transforms
#     minutes: 30
#     objectives:
#     - ask for a derivative with a tape, and say what the tape has recorded and what it has not
#     - turn a function into its gradient or its second derivative
#     - differentiate a gradient, and multiply with a Hessian that is never made
#     - recognise a function that no transform can trust
#     concepts: [B6, B7]
#     builds_on: [05_two_directions, 06_the_dynamic_graph]
#     widgets: [ForwardAndReverse, Predict, Quiz]
#     terms:
#       gradient tape: a block of code in which some tensors are watched, so that you can ask it for derivatives later
#       persistent tape: a tape that you may ask more than once, and that therefore keeps everything it has saved
#       functional transform: a function that takes a function and returns another, such as its gradient
#       pure function: a function whose result depends on its arguments alone, and that changes nothing else
#       Hessian: the table of all second derivatives of a number, with a row and a column for each input
#       Hessian-vector product: the Hessian times a direction, which is how the gradient changes along that direction
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 07 Tapes and transforms
#
# How large may a learning rate be? In lesson 03 you tried values until one worked. At the end of this lesson you
# compute the limit before the first step of training, to four digits. For that you need the slope of a *slope*, and a
# plain `loss.backward()` does not give it to you.
#
# There are other ways to ask. `backward()` leaves its answer in `.grad` of the leaves; that is PyTorch's way.
# TensorFlow asks a *tape*. JAX turns a function into another *function*. **Are these three engines, or three
# questions to one engine?** They even fail differently. PyTorch says
#
# > RuntimeError: The differentiated Tensor at index 0 appears to not have been used in the graph.
#
# where a TensorFlow tape returns `None`, and a JAX function 0. All three mean the same: no path was recorded between
# these two tensors. After this lesson you know where to look for the path.
#
# **About 30 minutes.** Afterwards you can
#
# - ask for a derivative with a tape, and say what the tape has recorded and what it has not;
# - turn a function into its gradient or its second derivative;
# - differentiate a gradient, and multiply with a Hessian that is never made;
# - recognise a function that no transform can trust.
#
# **Builds on** [05 Two directions](05_two_directions.ipynb) and [06 The dynamic graph](06_the_dynamic_graph.ipynb).

# %% slideshow={"slide_type": "skip"}
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.func import grad, hessian, jvp
from minigrad.widgets import ForwardAndReverse

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A tape
#
# A **gradient tape** is a block of code in which you say what to watch. Afterwards you ask the tape, and it *returns*
# the derivatives. We take x · y at 2 and 3 again. Note that there is no `requires_grad=True`.

# %%
x, y = mg.tensor(2.0), mg.tensor(3.0)
with mg.GradientTape() as tape:
    tape.watch([x, y])
    z = x * y
gx, gy = tape.gradient(z, [x, y])
print("from the tape:", gx, gy)

# %% [markdown]
# 3 and 2, as with `backward()`. Now look for traces:

# %% slideshow={"slide_type": "fragment"}
print("z.grad_fn:", z.grad_fn, "  x.grad:", x.grad, "  x requires a gradient after the block:", x.requires_grad)

# %% [markdown]
# There is a graph, and you know it: its entry is called MulBackward. A tape is not a second record. It is *a span of
# time* on the same record. Inside the span, the watched tensors count as requiring a gradient; later, the tape looks
# only at what was recorded in that span. It returns its answer and leaves nothing in `x.grad`, so there is nothing to
# clear.

# %% [markdown] slideshow={"slide_type": "notes"}
# 3 minutes. Before you run the second cell, ask what is in x.grad. If you say 3, you think of a tape as another
# spelling of backward().

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a tape records
#
# A leaf with `requires_grad=True`, such as a parameter, is watched without your asking. But a tape records only what
# runs inside its block. Here h = w² was computed *before* the block. The derivative of z = w³ at 2 is 12. What does the
# tape say?

# %% slideshow={"slide_type": "fragment"}
Predict("h too early", "h = w * w before the block, z = h * w inside, w = 2. What is tape.gradient(z, w)?")

# %% slideshow={"slide_type": "fragment"}
w = mg.tensor(2.0, requires_grad=True)
h = w * w
with mg.GradientTape() as tape:
    z = h * w
reveal("h too early", tape.gradient(z, w))

# %% [markdown]
# The tape recorded one multiplication, and for that one `h` was a given number: ∂z/∂w = h = 4. You get no error, and
# not the number that you wanted. If you forget to watch, you get no number at all:

# %%
c = mg.tensor(2.0)
with mg.GradientTape() as tape:
    z = c * c
print("c * c, where c was not watched:", tape.gradient(z, c))

# %% [markdown]
# **Where it breaks.** `None` from a tape says: *I have recorded no path between this target and this source.* Look
# for a forgotten `watch`, for a line above the block, and for a value that left the graph through `.numpy()` or
# `.item()`. `unconnected_gradients="zero"` turns the `None` into a 0, and takes away the only warning.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: two questions to one tape
#
# A tape answers once, and a **persistent tape** as often as you like.

# %% [markdown] slideshow={"slide_type": "skip"}
# A tape answers once. You know the reason from lesson 06: saved values are freed on the way back. Ask for everything at
# once, `tape.gradient(z, [h, x])`, or make a persistent tape. It keeps what was saved until you delete it, which is
# `retain_graph=True` under another name, at the same price. Here are the error and the way out:

# %% slideshow={"slide_type": "skip"}
import textwrap

with mg.GradientTape() as tape:
    tape.watch(x)
    h = x * x
    z = h * y
print("∂z/∂h =", tape.gradient(z, h))
try:
    tape.gradient(z, x)
except mg.errors.FreedError as error:
    print(textwrap.fill(str(error), 80))
with mg.GradientTape(persistent=True) as tape:
    tape.watch(x)
    h = x * x
    z = h * y
print("\npersistent: ∂z/∂h =", tape.gradient(z, h), " ∂z/∂x =", tape.gradient(z, x), " ∂h/∂x =", tape.gradient(h, x))
del tape

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A tape inside a tape
#
# A tape computes its answer with operations, and another tape can record those. So the slope of a slope needs two
# tapes, an inner and an outer one. It matters *where* you ask the inner tape. Below, it is asked after both blocks. At
# x = 3, x³ has the slope 3x² = 27 and the second derivative 6x = 18. What does the outer tape say?

# %%
Predict("asked after", "The slope is 27. What does outer.gradient(slope, x) say?", options=["18", "0", "None"])

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Draw two nested brackets on the board, and put `inner.gradient` first inside, then outside the outer one.
# The outer tape records what runs between its brackets, and the backward pass runs too.

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor(3.0)
with mg.GradientTape() as outer:
    outer.watch(x)
    with mg.GradientTape() as inner:
        inner.watch(x)
        z = x**3
slope = inner.gradient(z, x)
reveal("asked after", str(outer.gradient(slope, x)))

# %%
with mg.GradientTape() as outer:
    outer.watch(x)
    with mg.GradientTape() as inner:
        inner.watch(x)
        z = x**3
    inside = inner.gradient(z, x)
print("asked after: ", slope, "  asked inside:", inside, outer.gradient(inside, x))

# %% [markdown]
# The slope is right both times. But in the first case it was computed after the outer block had closed, so the outer
# tape knows no path from it to x.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## From functions to functions
#
# The third way of asking needs no block and no leaf, and shows you no graph. `grad(f)` is itself a function: give it a
# point, and it returns the slope of f there. A function that makes functions from functions is a **functional
# transform**, and you can apply it to its own result. Work out the three derivatives of x³ at 5 before you run the
# cell.


# %%
def cube(x):
    return x**3


print("at 5:", cube(5.0), grad(cube)(5.0), grad(grad(cube))(5.0), grad(grad(grad(cube)))(5.0))

# %% [markdown]
# They are 5³, 3 · 5², 6 · 5, and 6. Each `grad` makes an *alias* of its argument, a node with the same value. It
# records the run from there, goes back over it and returns the result. It is one run forward and one back, on the
# engine that you know.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: all parameters at once, curves, and more than one number
#
# What else `grad` returns, three derivatives as curves, and the whole Jacobian from `jacrev` and `jacfwd`.

# %% [markdown] slideshow={"slide_type": "skip"}
# `grad` can also return the value together with the slope, the slopes by several arguments, or the slopes by all
# parameters in a dictionary:

# %% slideshow={"slide_type": "skip"}
from minigrad.func import jacfwd, jacrev, value_and_grad, vjp, vmap

print("value and slope from one run:", *value_and_grad(cube)(2.0))
print("by both arguments:", *grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0))


def prediction_error(p, x):
    return (p["w"] @ x + p["b"] - 1) ** 2


p = {"w": mg.tensor([1.0, 2.0]), "b": mg.tensor(0.5)}
print("by all parameters of a model:", grad(prediction_error)(p, mg.tensor([3.0, -1.0])))

# %% [markdown] slideshow={"slide_type": "skip"}
# `grad` needs a function that returns a single number. To get a whole curve, map it: `vmap(f)` applies f to each
# element of an array. So tanh and its first three derivatives take one loop of three lines.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt

from minigrad.course import follow_theme

follow_theme()
points = mg.linspace(-3, 3, 121)
f, curves = mg.Tensor.tanh, []
for _ in range(4):
    curves.append(vmap(f)(points).numpy())
    f = grad(f)
fig, ax = plt.subplots(figsize=(6, 3))
styles = [("tanh", "#000000", "-"), ("first", "#0072B2", "--"), ("second", "#D55E00", "-."), ("third", "#009E73", ":")]
for curve, (name, colour, line) in zip(curves, styles, strict=True):
    ax.plot(points.numpy(), curve, line, color=colour, label=name)
ax.axhline(0, color="0.7", linewidth=0.7)
ax.set(xlabel="x", title="tanh and its first three derivatives")
ax.legend(frameon=False)
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: tanh climbs from −1 to 1; its first derivative is a hill of height 1 at 0; the second rises to a crest left
# of 0 and falls to a trough right of it; the third has a trough of depth −2 at 0 between two small crests.*

# %% [markdown] slideshow={"slide_type": "skip"}
# #### More than one number
#
# Lesson 05 went in two directions: `vjp` goes back from the outputs, `jvp` forward from the inputs. All other
# transforms are made of these two. `vjp` returns a *function* that you may call more than once, because it keeps its
# graph.
#
# The whole Jacobian has an entry for each pair of an output and an input. Below, x has shape (2, 3), and `waves(x)` has
# 4 numbers. What is the shape of the Jacobian?


# %% slideshow={"slide_type": "skip"}
def waves(x):
    return mg.stack([x.sum(), x.sin().sum(), x.cos().sum(), x.prod()])


x = mg.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
y, back = vjp(waves, x)
print("4 numbers from 6:", y.shape, " back from the first:", back(mg.tensor([1.0, 0.0, 0.0, 0.0]))[0].tolist())
print("forward along x[0, 0]:", jvp(waves, (x,), (mg.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),))[1])


# %% slideshow={"slide_type": "skip"}
def counting_calls(f):
    """Return a copy of f that counts its calls, and the list that grows with each."""
    calls = []

    def counted(x):
        calls.append(x)
        return f(x)

    return counted, calls


J = jacrev(waves)(x)
for transform in (jacrev, jacfwd):
    counted, calls = counting_calls(waves)
    same = np.allclose(transform(counted)(x).numpy(), J.numpy())
    print(f"{transform.__name__}: calls of waves: {len(calls)}; the same J: {same}")
print(f"shape of J: it is {J.shape}")

# %% [markdown] slideshow={"slide_type": "skip"}
# The shape of the output comes first, then that of the input. Both transforms called the function once. Then `jacrev`
# computed 4 rows side by side, one for each output; `jacfwd` computed 6 columns, one for each input. With fewer outputs
# than inputs, rows are cheaper; with more outputs than inputs, columns are.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The backward pass is a computation, too
#
# How can a gradient be differentiated at all? By recording the backward pass while it runs. With `backward()` and
# `mg.grad` you ask for that: `create_graph=True`. Without it, the slope is a number without a past. This is the graph
# of the *slope* of x³, which is 3 · x², times the 1 that backward starts from. It ends in the same leaf x, and we can
# go back over it as over any other graph.

# %%
x = mg.tensor(3.0, requires_grad=True)
(plain,) = mg.grad(x**3, x)
(g,) = mg.grad(x**3, x, create_graph=True)
(gg,) = mg.grad(g, x)
print("without:", plain, " with:", g)
print("second derivative of x³ at 3:", gg)
mg.draw(g)

# %% [markdown] slideshow={"slide_type": "subslide"}
# All second derivatives of a function together are the Jacobian of its gradient, the **Hessian**. Watch the widget fill
# one. For f = y · eˣ the gradient has two numbers, so the table is 2 by 2. The upper one fills column by column
# (forward over reverse), the lower one row by row (reverse over reverse). Step to the end of the first column, and work
# out the rest before you go on.


# %%
def f(x, y):
    return y * x.exp()


ForwardAndReverse(grad(f, argnums=(0, 1)), mg.tensor(0.0), mg.tensor(3.0))

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. The gradient is (y · eˣ, eˣ). Let them fill the table by hand first, at x = 0 and y = 3: 3, 1, 1, 0. It is
# its own mirror image, so rows and columns come to the same thing.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The Hessian, and without it
#
# For n inputs the Hessian has n² numbers. A network with a million weights would need a million million of them, 8
# terabytes. But often you want only its product with a direction v: how the *gradient* changes when x moves along v.
# That is a `jvp` of the gradient, and it never makes the table: the **Hessian-vector product**. The cell
# below compares it with the whole table, which `hessian` makes.


# %%
def hvp(f, x, v):
    """Multiply the Hessian of f at x by v, without making the Hessian."""
    return jvp(grad(f), (x,), (v,))[1]


def springs(x):
    return ((x[1:] - x[:-1]) ** 2).sum() + (x**4).sum()


x, v = mg.tensor(np.linspace(-1, 1, 50)), mg.ones(50, dtype=mg.float64)
print("the same product:", np.allclose(hessian(springs)(x).numpy() @ v.numpy(), hvp(springs, x, v).numpy()))

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: what a Hessian and its product cost, and a gradient for each example
#
# Numbers that are computed for a Hessian, for a product with it, and for derivatives of higher order; and `vmap` of
# `grad`.

# %% [markdown] slideshow={"slide_type": "skip"}
# We take a chain of springs with n points, for n = 50, 100 and 200. `hessian` runs forward over reverse, all columns
# side by side. `Count` watches the engine, as the counter in lesson 06 did, and adds up how many numbers are computed.
# From n = 100 to 200, how many times as many numbers does `hvp` compute? Say a number before you run the second cell.

# %% slideshow={"slide_type": "skip"}
from minigrad.core.modes import watching


def counting_calls(f):
    """Return a copy of f that counts its calls, and the list that grows with each."""
    calls = []

    def counted(x):
        calls.append(x)
        return f(x)

    return counted, calls


# %% slideshow={"slide_type": "skip"}
class Count:
    """Counts the operations that run, in forward and backward passes, and the numbers that they compute."""

    def __init__(self):
        self.operations = self.numbers = 0

    def on_forward(self, op, y, xs):
        self.operations += 1
        self.numbers += y.size

    def on_backward(self, node, gy, gxs):
        pass


def cost(derivative):
    """Return how often a derivative calls springs, the numbers it computes, and the bytes of its result."""
    counted, calls = counting_calls(springs)
    with watching(Count()) as count:
        result = derivative(counted)
    return len(calls), count.numbers, result.numpy().nbytes


# %% slideshow={"slide_type": "skip"}
print("  n   Hessian: calls   computed     bytes   product: calls   computed   bytes")
for n in (50, 100, 200):
    x, v = mg.tensor(np.linspace(-1, 1, n)), mg.ones(n, dtype=mg.float64)
    table, product = cost(lambda f, x=x: hessian(f)(x)), cost(lambda f, x=x, v=v: hvp(f, x, v))
    print(f"{n:3} {table[0]:16} {table[1]:10,} {table[2]:9,} {product[0]:16} {product[1]:10,} {product[2]:7,}")

# %% [markdown] slideshow={"slide_type": "skip"}
# About twice as many. Both call the function once, whatever n is. But for the Hessian the computed numbers grow with
# n², and for the product only with n, and its result has as many bytes as the gradient.
#
# Reverse over reverse can do it too: multiply the gradient by v, add up, and take the gradient of that number. PyTorch
# and TensorFlow users often write it that way, with `create_graph=True` or with two tapes.

# %% [markdown]
# To see how hard each example pulls, you need the gradients apart, and `backward()` has already added them up. With
# transforms it is one line. (`in_dims` says along which axis each argument is sliced: X and Y along axis 0, and w, with
# `None`, not at all.)

# %%
from minigrad.func import vmap


def error(w, x, y):
    return (x @ w - y) ** 2


w = mg.tensor([1.0, 2.0])
X = mg.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
Y = mg.tensor([0.0, 2.0, 0.0])
gradients = vmap(grad(error), in_dims=(None, 0, 0))(w, X, Y)
print(gradients)
print("added up:", gradients.sum(axis=0), " the batch:", grad(lambda w: error(w, X, Y).sum())(w))

# %% [markdown]
# The weights fit the second example already, so its row is 0; the third pulls on both weights. `vmap` called the
# function once, on symbols that stand for one example, and then applied each operation once, to all three side by side.
#
# What does a derivative of one more order cost? We count the operations that run, forward and back.

# %%
f = mg.Tensor.tanh
for order in range(6):
    with watching(Count()) as count:
        f(mg.tensor(0.5))
    print(f"derivative {order} of tanh: {count.operations:3} operations")
    f = grad(f)

# %% [markdown]
# Each order runs everything that the order before ran, and a backward pass over it, so the work about doubles each
# time. Two orders are common, three are rare, and nobody computes a tenth derivative in this way.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How fast may it learn?
#
# Back to the learning rate. Curvature tells you how large it may be. Take a quadratic, and the direction in which it
# bends most, by λ. Along that direction, a step of gradient descent multiplies the distance from the minimum by 1 −
# rate · λ. (In lesson 03 the factor was 1 − 2 · rate, because (w − 3)² has the second derivative 2.) Beyond rate = 2/λ
# the factor is below −1. To find λ, multiply a vector by the Hessian again and again: the direction that bends most
# wins.
#
# The loss starts at about 1. What is it after 100 steps with a rate 2 % *above* the limit?

# %%
rng = np.random.default_rng(0)
X, Y = mg.tensor(rng.normal(size=(100, 50)) + 1), mg.tensor(rng.normal(size=100))


def loss(w):
    return ((X @ w - Y) ** 2).mean()


w = mg.zeros(50, dtype=mg.float64)
v = mg.tensor(rng.normal(size=50))
for _ in range(10):
    v = v / (v * v).sum().sqrt()
    Hv = hvp(loss, w, v)
    bend, v = (v * Hv).sum().item(), Hv
limit = 2 / bend
print(f"λ = {bend:.3f} from 10 products, so the limit is {limit:.5f}")
Predict(
    "beyond the limit",
    "Where is the loss after 100 steps at 1.02 × limit?",
    options=["below its start", "above its start"],
)

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Ten products, each as cheap as a gradient or two, found what is otherwise found by trial. Point out that
# none of this made a 50 by 50 table.

# %% slideshow={"slide_type": "fragment"}
start, losses = loss(w).item(), {}
for factor in (0.5, 0.98, 1.02, 1.1):
    u = w
    for _ in range(100):
        u = u - factor * limit * grad(loss)(u)
    losses[factor] = loss(u).item()
reveal("beyond the limit", "above its start" if losses[1.02] > start else "below its start")

# %% slideshow={"slide_type": "fragment"}
for factor, end in losses.items():
    per_step = 1 - 2 * factor
    print(f"{factor:4} × limit: from {start:.2f} to {end:.3g}   ({per_step:.2f})¹⁰⁰ = {per_step**100:.3g}")

# %% [markdown]
# 2 % below the limit training works, 2 % above it the loss climbs, and ten cheap products knew it beforehand. Above
# the limit the factor is 1 − 1.02 · 2 = −1.04. A hundred such steps multiply the distance by 50.5, and that part of
# the loss by the square of 50.5. (It was a small part at the start, so after 100 steps the loss is only 5.25.)
#
# If a loss is not quadratic, the limit holds near a minimum, and moves as the weights move. This is one reason why a
# rate that was good at first can turn bad.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: which to ask
#
# When to use backward, a tape or a transform.

# %% [markdown] slideshow={"slide_type": "skip"}
# | you want | ask | because |
# |---|---|---|
# | to train a network | `loss.backward()`, an optimizer | parameters survive each step, and so may their accounts |
# | a gradient in the middle of other work | `mg.grad(z, x)`, or a tape | it is returned; no `.grad` is touched |
# | control over what counts as recorded | a tape | it is a block: it ignores what runs outside |
# | a derivative of a derivative | transforms | they nest, and each keeps its arguments apart |
# | a derivative for each example | `vmap(grad(f))` | `backward()` has added them up |
# | products with a Jacobian or a Hessian | `vjp`, `jvp` | the table is never made |
#
# All of them come down to the two directions of lesson 05, in one engine.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A function that is not one
#
# A transform believes you that f is a function: the same arguments give the same result, and nothing else changes. That
# is a **pure function**. Often a cache makes it impure. Below, the function stores eˣ at its first call, at 0. At 1 it
# uses the stored e⁰ again, as a constant. And a value that leaves the graph on its way becomes a constant too:

# %%
cache = {}


def cached(x):
    if "h" not in cache:
        cache["h"] = x.exp()
    return cache["h"] * x


print("slope of x·eˣ at 0:", grad(cached)(0.0), " at 1:", grad(cached)(1.0))
print("without the cache: ", grad(lambda x: x.exp() * x)(0.0), " at 1:", grad(lambda x: x.exp() * x)(1.0))


def leaves_the_graph(x):
    return mg.tensor(x.item() ** 2)


print("grad says", grad(leaves_the_graph)(mg.tensor(3.0)))
print("nudging agrees:", mg.gradcheck(leaves_the_graph, mg.tensor(3.0), raise_exception=False))

# %% [markdown]
# Where no path arrives, a tape says `None`. A transform says 0, and 0 looks like an answer. If a gradient is 0 and
# should not be, call the referee, `gradcheck`: it nudges the input, and believes nobody.

# %% [markdown] slideshow={"slide_type": "notes"}
# 3 minutes. Ask who keeps results in a dictionary in their own code. The cache is a good idea until somebody
# differentiates it.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a function that counts its calls
#
# Ask the same question twice, and get two answers.

# %% [markdown] slideshow={"slide_type": "skip"}
# This function counts its calls, and the count gets into the result. If the count stood still at n, the Hessian of
# n · (x₁² + x₂² + x₃²) would have 2n along its diagonal, and 0 elsewhere. What do you get here?

# %% slideshow={"slide_type": "skip"}
calls = []


def impure(x):
    calls.append("one more")
    return (len(calls) * x * x).sum()


one = mg.tensor([1.0, 1.0, 1.0])
print(hessian(impure)(one))
print(hessian(impure)(one))
print("the gradient, asked twice:", grad(impure)(one), grad(impure)(one))

# %% [markdown] slideshow={"slide_type": "skip"}
# Each call runs a different function. There is no error: each number is the right derivative of *something*.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("07_tapes_and_transforms")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# The words of this lesson in PyTorch, TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|
# | `with mg.GradientTape() as tape:` | none | `with tf.GradientTape() as tape:` | none |
# | `tape.watch(x)`, `tape.gradient(z, x)` | `torch.autograd.grad(z, x)` | the same | none |
# | `GradientTape(persistent=True)` | `retain_graph=True` | the same | the function of `jax.vjp` |
# | `mg.func.grad(f)` | `torch.func.grad(f)` | none | `jax.grad(f)` |
# | `mg.func.value_and_grad(f)` | `torch.func.grad_and_value(f)` | none, but in `tfp.math` | `jax.value_and_grad(f)` |
# | `mg.func.vjp(f, x)` | `torch.func.vjp(f, x)` | `output_gradients=` of a tape | `jax.vjp(f, x)` |
# | `mg.func.jvp(f, (x,), (dx,))` | the same, in `torch.func` | `tf.autodiff.ForwardAccumulator` | the same, in `jax` |
# | `mg.func.jacrev`, `jacfwd`, `hessian` | the same, in `torch.func` | `tape.jacobian` | the same, in `jax` |
# | `mg.vmap(f)` | `torch.vmap(f)` | `tf.vectorized_map(f, xs)` | `jax.vmap(f)` |
# | `mg.grad(z, x, create_graph=True)` | the same, in `torch.autograd` | a tape in a tape | nest `jax.grad` |
# | 0 where x left the graph | the same, in `torch.func` | `None` | 0; in `jax.jit` an error |
#
# PyTorch's `grad_and_value` returns the gradient first. `tfp` is TensorFlow Probability, and the name is
# `value_and_gradient(f, x)`. In the last row x left through `x.item()`; JAX refuses `float(x)` at once.
#
# ### The same in PyTorch
#
# Transforms return functions, so they nest. And a transform believes that your function is pure: where x leaves the
# graph through `.item()`, the gradient is 0, and no error says so.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_jax, in_pytorch


@in_pytorch
def nested_transforms(torch):
    """
    x³ and its derivatives at 5: 125.0 75.0 30.0
    with create_graph, x³ at 3: 27.0 18.0
    through .item(): 0.0
    """
    from torch.func import grad

    def cube(x):
        return x**3

    x = torch.tensor(5.0)
    print("x³ and its derivatives at 5:", *(f(x).item() for f in (cube, grad(cube), grad(grad(cube)))))
    a = torch.tensor(3.0, requires_grad=True)
    (slope,) = torch.autograd.grad(a**3, a, create_graph=True)
    print("with create_graph, x³ at 3:", slope.item(), torch.autograd.grad(slope, a)[0].item())
    print("through .item():", grad(lambda x: torch.tensor(x.item() ** 2))(x).item())


# %% [markdown] slideshow={"slide_type": "skip"}
# ### The same in JAX
#
# Our transforms show you no graph. JAX can show one: it runs your function once, on symbols, and writes down its
# operations. This record is the *jaxpr*, and `GraphView(f, x)` draws it. For `cube` it has a single
# operation. `jax.grad(cube)` is a function too, so it has a jaxpr of its own. How many operations do you expect there,
# and is x³ still one of them?
#
# Answer, then run the cell below. Its lines are folded, because the answer is among them: click its three dots to read
# them.


# %% jupyter={"source_hidden": true} slideshow={"slide_type": "skip"}
@in_jax
def slope_in_jax(jax):
    """
    x, f32[], a leaf
    jvp: forward, 3 ops
      ^3, f32[]
      ^2, f32[]
      3
      mul, f32[]
    transpose(jvp): backward, 1 op
      1
      mul → result, f32[]
    at 5: 75.0   multiplications when compiled: 2
    """

    def cube(x):
        return x**3

    x, slope = jax.numpy.float32(5), jax.grad(cube)
    view = mg.widgets.GraphView(slope, x)
    print(view.text)
    compiled = jax.jit(slope).lower(x).compile().as_text()
    print("at 5:", slope(x), "  multiplications when compiled:", compiled.count(" multiply("))
    return view


# %% [markdown] slideshow={"slide_type": "skip"}
# Four, and the first of them is x³. Nobody reads it, but a record has everything that ran. The compiler removes what
# nobody needs (lesson 13), and so two multiplications are left. The other three operations are 3 · x², times the 1
# that backward starts from, as in our picture of the slope. The groups show how JAX made the operations: `jvp` went
# forward, as in lesson 05, and `transpose(jvp)` goes the same way back.
#
# To draw a function of your own, see [Your own graphs](../docs/your_own_graphs.md).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - `.backward()`, a tape and a transform are three questions to one engine. They differ in where the answer goes and in
#   what counts as recorded.
# - A tape records what runs inside its block, starting from what it watches. `None` means that it recorded no path.
# - Transforms return functions, and so they nest: `grad(grad(f))` is the second derivative of f.
# - The backward pass can be recorded too, and this is how second derivatives are made. A product with the Hessian
#   needs no Hessian, and ten of them find the largest learning rate.
# - A transform believes that your function is pure. The referee checks.
#
# **Sources.** B. A. Pearlmutter, *Fast exact multiplication by the Hessian*, Neural Computation 6 (1994), 147-160: the
# product without the table, from its equation 1. Y. LeCun, P. Simard, B. A. Pearlmutter, *Automatic learning rate
# maximization by on-line estimation of the Hessian's eigenvectors*, NIPS 5 (1993), 156-163: the limit 2/λ. J. M.
# Siskind, B. A. Pearlmutter, *Perturbation confusion and referential transparency*, IFL (2005): why transforms make
# aliases of their arguments. R. Frostig, M. J. Johnson, C. Leary, *Compiling machine learning programs via high-level
# tracing*, SysML (2018): transforms of pure functions. A. Agrawal and others, *TensorFlow Eager: A multi-stage,
# Python-embedded DSL for machine learning*, SysML (2019): tapes.
#
# **Exercise.** [07 Asked three ways](../exercises/07_asked_three_ways.ipynb): predict what a tape says, mend two tapes,
# and ask for a curvature on a budget.
#
# **Next:** [08 A graph for each input](08_a_graph_for_each_input.ipynb) lets Python's own `if` and `for`
# shape the graph.
