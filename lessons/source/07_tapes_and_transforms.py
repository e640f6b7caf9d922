# ---
# jupyter:
#   minigrad:
#     title: Tapes and transforms
#     minutes: 45
#     objectives:
#     - ask for a derivative with a tape, and say what the tape has heard and what it has not
#     - turn a function into its gradient, its Jacobian or its second derivative, and say what each costs
#     - differentiate a gradient, and multiply with a Hessian that is never made
#     - choose between backward, a tape and a transform, and recognise a function that no transform can trust
#     concepts: [B6, B7]
#     builds_on: [05_two_directions, 06_the_dynamic_graph]
#     widgets: [ForwardAndReverse, Predict, Quiz]
#     terms:
#       gradient tape: a block of code in which some tensors are watched, so that it can be asked for derivatives later
#       persistent tape: a tape that may be asked more than once, and so keeps all that it has saved
#       functional transform: a function that takes a function and gives another, such as its gradient
#       pure function: a function whose result depends on its arguments alone, and that changes nothing else
#       Hessian: the table of all second derivatives of a number, with a row and a column for each input
#       Hessian-vector product: the Hessian times a direction, which is how the gradient changes along that direction
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 07 Tapes and transforms
#
# > RuntimeError: The differentiated Tensor at index 0 appears to not have been used in the graph.
#
# PyTorch says this where a TensorFlow tape answers `None`, and a JAX function 0. All three say the same thing: between
# these two no path was recorded. After this lesson you will know where to look for it.
#
# `loss.backward()` leaves its answer in `.grad` of the leaves. That is one way to ask for a derivative, and it is
# PyTorch's. TensorFlow asks a *tape*. JAX turns a function into another *function*. **Are these three engines, or three
# questions to one engine?** And which question is the right one, when you want the slope of a slope?
#
# **About 45 minutes.** Afterwards you can
#
# - ask for a derivative with a tape, and say what the tape has heard and what it has not;
# - turn a function into its gradient, its Jacobian or its second derivative, and say what each costs;
# - differentiate a gradient, and multiply with a Hessian that is never made;
# - choose between backward, a tape and a transform, and recognise a function that no transform can trust.
#
# **Builds on** [05 Two directions](05_two_directions.ipynb) and [06 The dynamic graph](06_the_dynamic_graph.ipynb).

# %% slideshow={"slide_type": "skip"}
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.course.plots import follow_theme
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from minigrad.core.modes import watching
from minigrad.widgets import ForwardAndReverse

follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A tape
#
# A **gradient tape** is a block of code in which you say what to watch. Afterwards you ask it, and it *returns* the
# derivatives. The example is the old one, x · y at 2 and 3; note that there is no `requires_grad=True`.

# %%
x, y = mg.tensor(2.0), mg.tensor(3.0)
with mg.GradientTape() as tape:
    tape.watch([x, y])
    z = x * y
gx, gy = tape.gradient(z, [x, y])
print("from the tape:", gx, gy)

# %% [markdown]
# 3 and 2, as with `backward()`. Now look for traces. What has the tape left in `x.grad`, and was there a graph?

# %% slideshow={"slide_type": "fragment"}
Predict("x.grad", "What is in x.grad now?", options=["3", "0", "None"])

# %% [markdown] slideshow={"slide_type": "notes"}
# 3 minutes. Show of hands. Anyone who says 3 thinks of a tape as another spelling of backward(). It is a question whose
# answer is handed back, and nothing is left behind: no account, nothing to clear.

# %% slideshow={"slide_type": "fragment"}
print("z.grad_fn:", z.grad_fn, " x wants a gradient after the block:", x.requires_grad)
reveal("x.grad", str(x.grad))

# %% [markdown]
# There is a graph, and it is the one that you know: an entry called MulBackward. A tape is not another record. It is *a
# span of time* on the same one: inside it some tensors count as wanting a gradient, and later it looks only at what was
# recorded while it listened. Because the answer is returned, there is nothing to clear: no `zero_grad` here.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What the tape has heard
#
# A leaf that wants gradients anyway, as parameters do, is watched without your asking. But a tape hears only what runs
# inside its block. Here h = w² was computed *before*. The derivative of z = w³ at 2 is 12; what does the tape say?

# %% slideshow={"slide_type": "fragment"}
Predict("heard", "h = w * w before the block, z = h * w inside, w = 2. What is tape.gradient(z, w)?")

# %% slideshow={"slide_type": "fragment"}
w = mg.tensor(2.0, requires_grad=True)
h = w * w
with mg.GradientTape() as tape:
    z = h * w
g = tape.gradient(z, w)
c = mg.tensor(2.0)
with mg.GradientTape() as tape:
    z = c * c
print("c * c, where c was not watched:", tape.gradient(z, c))
reveal("heard", g)

# %% [markdown]
# It heard one multiplication, and in that one `h` was given: ∂z/∂w = h = 4. Neither an error nor the number you wanted.
# Forget to watch, as with c above, and there is no number at all.
#
# **Where it breaks.** `None` from a tape says: *between this target and this source I have heard nothing.* Look for a
# forgotten `watch`, for a line above the block, and for a value that left the graph through `.numpy()` or `.item()` on
# its way. `unconnected_gradients="zero"` turns the `None` into a 0, and you lose the only warning.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two questions to one tape
#
# A tape gives one answer and lets go, for the reason that you know from lesson 06: what was saved is freed on the way.
# Ask for both at once, `tape.gradient(z, [h, x])`, or make a **persistent tape**. It keeps what was saved until you let
# go of it, which is `retain_graph=True` under another name, at the same price. Here are the error and the way out:

# %%
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
# The answer of a tape is a tensor, computed by operations. If another tape is listening at the time, it hears them. So
# the slope of a slope needs two tapes, and the question is *where* the inner one is asked. We ask it too late:


# %%
def second(x, inside):
    with mg.GradientTape() as outer:
        outer.watch(x)
        with mg.GradientTape() as inner:
            inner.watch(x)
            z = x**3
        if inside:
            slope = inner.gradient(z, x)
    if not inside:
        slope = inner.gradient(z, x)
    return slope, outer.gradient(slope, x)


# %%
Predict(
    "asked too late",
    "inside=False, at x = 3: the slope is 27. What is the second derivative?",
    options=["18", "0", "None"],
)

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Draw two nested brackets on the board, and put `inner.gradient` first inside, then outside the outer one.
# The outer tape hears what runs between its brackets, and the backward pass runs too.

# %% slideshow={"slide_type": "fragment"}
late = second(mg.tensor(3.0), inside=False)
print("too late: ", *late)
print("in time:  ", *second(mg.tensor(3.0), inside=True))
reveal("asked too late", str(late[1]))

# %% [markdown]
# At 3, x³ has the slope 3x² = 27 and the second derivative 6x = 18. The number of the slope is right both times. But in
# the first case the outer block had closed before it was computed.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## From functions to functions
#
# The third way of asking has no graph in sight, no block, no leaf. `grad(f)` is a function: give it a point, and it
# gives the slope of f there. It is a **functional transform**, and since it gives a function, it can be applied to what
# it gave. For f(x) = x³, what is `grad(grad(grad(f)))` at 5?


# %%
def cube(x):
    return x**3


# %% slideshow={"slide_type": "fragment"}
Predict("three times", "What is grad(grad(grad(cube)))(5.0)?")

# %% slideshow={"slide_type": "fragment"}
third = grad(grad(grad(cube)))(5.0)
print("at 5:", cube(5.0), grad(cube)(5.0), grad(grad(cube))(5.0), third)
reveal("three times", third)

# %% [markdown]
# 5³, 3 · 5², 6 · 5, and 6. Each `grad` makes an alias of its argument, records the run from there, goes back over it
# and returns the result: one run forward, one back, on the engine that you know. The rest is a matter of what you want:

# %% slideshow={"slide_type": "skip"}
print("value and slope from one run:", *value_and_grad(cube)(2.0))
print("by both arguments:", *grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0))


def prediction_error(p, x):
    return (p["w"] @ x + p["b"] - 1) ** 2


p = {"w": mg.tensor([1.0, 2.0]), "b": mg.tensor(0.5)}
print("by all parameters of a model:", grad(prediction_error)(p, mg.tensor([3.0, -1.0])))

# %% [markdown] slideshow={"slide_type": "subslide"}
# `grad` wants a function that gives one number. To follow a curve, map it: `vmap(f)` applies f to each slice of an
# array. So the curves of tanh and of its first three derivatives take one expression each.

# %%
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

# %% [markdown]
# *The plot: tanh climbs from −1 to 1; its first derivative is a hill of height 1 at 0; the second rises to a crest left
# of 0 and falls to a trough right of it; the third has a trough of depth −2 at 0 between two small crests.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## More than one number
#
# Lesson 05 went in two directions: `vjp` goes back from the outputs, `jvp` forward from the inputs. As transforms, they
# are what all the other derivatives are made of. `vjp` returns a *function* that you may call again: the graph in it is
# kept.
#
# The whole Jacobian has an entry for each pair of an output and an input. Below, x has shape (2, 3), and `waves(x)` has
# 4 numbers. What is the shape of the Jacobian?


# %%
def waves(x):
    return mg.stack([x.sum(), x.sin().sum(), x.cos().sum(), x.prod()])


x = mg.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
y, back = vjp(waves, x)
print("4 numbers from 6:", y.shape, " back from the first:", back(mg.tensor([1.0, 0.0, 0.0, 0.0]))[0].tolist())
print("forward along x[0, 0]:", jvp(waves, (x,), (mg.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),))[1])

# %% slideshow={"slide_type": "fragment"}
Predict("shape of J", "What is the shape of jacrev(waves)(x)?", kind="shape")

# %% slideshow={"slide_type": "fragment"}
J = jacrev(waves)(x)
for transform in (jacrev, jacfwd):
    runs = []
    found = transform(lambda x, runs=runs: runs.append(x) or waves(x))(x)  # append gives None: "or" goes on to waves
    same = np.allclose(found.numpy(), J.numpy())
    print(f"{transform.__name__}: runs of the function: {len(runs)}; the same J: {same}")
reveal("shape of J", J.shape)

# %% [markdown]
# The output's shape comes first, then the input's. Both ran the function once. `jacrev` then computed 4 rows side by
# side, one for each output; `jacfwd` 6 columns, one for each input. So its arrays were longer. Here rows are cheaper;
# for a tall Jacobian, of many outputs and few inputs, it is the other way round.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The backward pass is a computation, too
#
# How can a gradient be differentiated? By recording the backward pass while it runs. With `backward()` and `mg.grad`
# you say so: `create_graph=True`. Without it, the slope is a number without a past. The drawing is the graph of the
# *slope* of x³, 3 · x², times the 1 that backward starts from. It ends in the same leaf, and we can go back over it as
# over any other.

# %%
x = mg.tensor(3.0, requires_grad=True)
(plain,) = mg.grad(x**3, x)
(g,) = mg.grad(x**3, x, create_graph=True)
(gg,) = mg.grad(g, x)
print("without:", plain, " with:", g)
print("second derivative of x³ at 3:", gg)
mg.draw(g)

# %% [markdown] slideshow={"slide_type": "subslide"}
# All second derivatives of a function are the Jacobian of its gradient: the **Hessian**. Let us watch one being filled.
# For f = y · eˣ the gradient has two numbers, and the table is 2 by 2. On the left it fills column by column (forward
# over reverse), on the right row by row (reverse over reverse). Step to the end of the first column, and predict the
# rest. (An *alias* box is the copy of an argument that each transform makes for itself.)


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
# That is a `jvp` of the gradient, and the Hessian is never made: the **Hessian-vector product**.
#
# Take n = 200 points on a chain of springs. `hessian(f)` runs forward over reverse, and gives 200 columns. How often
# does it run `springs`, and how often does `hvp`? `Count` counts operations, and the numbers that they give. Like
# `Steps` in lesson 06 it watches: the engine calls its `saw` for each operation.


# %%
def hvp(f, x, v):
    return jvp(grad(f), (x,), (v,))[1]


def springs(x):
    return ((x[1:] - x[:-1]) ** 2).sum() + (x**4).sum()


# %% slideshow={"slide_type": "skip"}
class Count:
    """Operations that ran, also those of a backward pass on tensors, and the numbers that they gave."""

    def __init__(self):
        self.operations = self.numbers = 0

    def saw(self, op, y, xs):
        self.operations += 1
        self.numbers += y.size

    def pulled(self, node, gy, gxs):
        pass


# %% slideshow={"slide_type": "fragment"}
Predict("runs for the Hessian", "How often does hessian(springs)(x) run springs, for 200 inputs?")

# %% slideshow={"slide_type": "fragment"}
Predict("runs for a product", "How often does hvp(springs, x, v) run it?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 5 minutes. For the first question many say 200, a run for each column. But the columns are moved side by side. For the
# second many say 2, one run for the gradient and one for the change. Forward mode carries the change along.


# %% slideshow={"slide_type": "fragment"}
def cost(derivative, x):
    runs = []
    with watching(Count()) as count:
        found = derivative(lambda x: runs.append(x) or springs(x), x)
    return len(runs), count.numbers, found.numpy().nbytes


print("  n   Hessian: runs   computed      bytes    product: runs   computed  bytes")
for n in (50, 100, 200):
    x, v = mg.tensor(np.linspace(-1, 1, n)), mg.ones(n, dtype=mg.float64)
    whole, product = cost(lambda f, x: hessian(f)(x), x), cost(lambda f, x, v=v: hvp(f, x, v), x)
    print(f"{n:3} {whole[0]:15} {whole[1]:10,} {whole[2]:10,} {product[0]:16} {product[1]:10,} {product[2]:6,}")
same = np.allclose(hessian(springs)(x).numpy() @ v.numpy(), hvp(springs, x, v).numpy())
print("the same product:", same)
display(reveal("runs for the Hessian", whole[0]))
reveal("runs for a product", product[0])

# %% [markdown]
# One run each, whatever n is. But the Hessian grows with n², and so do the numbers that are computed on the way to it.
# For the product they grow with n, and it has as many bytes as the gradient. Reverse over reverse does it as well:
# weigh the gradient with v, add up, and take the gradient of that number. PyTorch and TensorFlow users write it that
# way, with `create_graph=True` or with two tapes.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a gradient for each example, and what another order costs
#
# You can follow the lesson without what is folded here: two more uses of the same transforms. A loss over a batch gives
# one gradient, the sum over all examples. `vmap` of `grad` gives one for each example, and a cell below counts what the
# second, third and fourth derivative cost.

# %% [markdown]
# To know how hard each example pulls, you need the gradients apart, and `backward()` cannot tell: it has added them up.
# With transforms it is one line. (`in_dims` says along which axis each argument is sliced: X and Y along axis 0, and w,
# with `None`, not at all.)


# %%
def error(w, x, y):
    return (x @ w - y) ** 2


w = mg.tensor([1.0, 2.0])
X = mg.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
Y = mg.tensor([0.0, 2.0, 0.0])
each = vmap(grad(error), in_dims=(None, 0, 0))(w, X, Y)
print(each)
print("added up:", each.sum(axis=0), " the batch:", grad(lambda w: error(w, X, Y).sum())(w))

# %% [markdown]
# The second example is fitted already, and its row is 0; the third pulls on both weights. `vmap` called the function
# once, on symbols that stand for one example, and then applied each operation once, to all three side by side.
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
# Each order runs all that the one before ran, and a backward pass over it, so the work about doubles from order to
# order. Two is common, three is rare, and nobody computes a tenth derivative in this way.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How fast may it learn?
#
# In lesson 03 the learning rate was found by trying. Curvature says more. Along the direction in which a quadratic
# bends most, by λ, a step of gradient descent multiplies the distance from the minimum by 1 − rate · λ. (There it was 1
# − 2 · rate: (w − 3)² has the second derivative 2.) Beyond rate = 2/λ that factor is below −1, and each step lands
# farther off. To find λ, multiply a vector by the Hessian again and again: the direction that bends most wins.
#
# 2 % below the limit that the cell finds, the loss should fall. And 2 % above it, after 100 steps?

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

# %% slideshow={"slide_type": "fragment"}
Predict(
    "beyond the limit",
    "Where is the loss after 100 steps at 1.02 × limit?",
    options=["below its start", "above its start"],
)

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Ten products, each as cheap as a gradient or two, found what is otherwise found by trial. Point out that
# nothing of this made a 50 by 50 table.

# %% slideshow={"slide_type": "fragment"}
start, losses = loss(w).item(), {}
for factor in (0.5, 0.98, 1.02, 1.1):
    u = w
    for _ in range(100):
        u = u - factor * limit * grad(loss)(u)
    losses[factor] = loss(u).item()
    each = 1 - 2 * factor
    print(f"{factor:4} × limit: from {start:.2f} to {losses[factor]:.3g}", f"  ({each:.2f})¹⁰⁰ = {each**100:.3g}")
reveal("beyond the limit", "above its start" if losses[1.02] > start else "below its start")

# %% [markdown]
# 2 % above the limit the factor is 1 − 1.02 · 2 = −1.04. A hundred such steps multiply the distance by 50.5, and the
# part of the loss that comes from this direction by the square of that. It was a small part at the start. For a loss
# that is not quadratic the limit holds near a minimum, and moves as the weights do. That is one reason why a rate that
# was good at first can turn bad.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which to ask
#
# | you want | ask | because |
# |---|---|---|
# | to train a network | `loss.backward()`, an optimizer | the parameters live on, and so may their accounts |
# | a gradient in the middle of other work | `mg.grad(z, x)`, or a tape | it is returned; no `.grad` is touched |
# | control over what counts as recorded | a tape | it is a block: what is outside is not heard |
# | a derivative of a derivative | transforms | they nest, and each keeps its arguments apart |
# | a derivative for each example | `vmap(grad(f))` | `backward()` has added them up |
# | products with a Jacobian or a Hessian | `vjp`, `jvp` | the table is never made |
#
# All of them come down to the two directions of lesson 05, in one engine.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A function that is not one
#
# Transforms take you at your word that f is a function: same arguments, same result, nothing else changed. Such a
# function is called a **pure function**. This one is not; it counts its calls, and the count gets into the result. The
# Hessian of n · (x₁² + x₂² + x₃²) has 2n all along its diagonal, and 0 elsewhere. And here?

# %%
calls = []


def impure(x):
    calls.append("one more")
    return (len(calls) * x * x).sum()


one = mg.tensor([1.0, 1.0, 1.0])
print(hessian(impure)(one))
print(hessian(impure)(one))
print("the gradient, asked twice:", grad(impure)(one), grad(impure)(one))

# %% [markdown]
# The same question, asked twice, gets two answers: each run is a run of a different function. No error: each number is
# the right derivative of *something*. A cache is a more common way to get here: at 1, below, the factor e⁰ of the
# earlier call comes along as a constant. And a value that leaves the graph on its way is a constant too, and `grad`
# gives 0 where nothing arrives.


# %%
kept = {}


def cached(x):
    if "h" not in kept:
        kept["h"] = x.exp()
    return kept["h"] * x


print("slope of x·eˣ at 0:", grad(cached)(0.0), " at 1:", grad(cached)(1.0))
print("without the cache: ", grad(lambda x: x.exp() * x)(0.0), " at 1:", grad(lambda x: x.exp() * x)(1.0))


def leaves_the_graph(x):
    return mg.tensor(x.item() ** 2)


print("grad says", grad(leaves_the_graph)(mg.tensor(3.0)))
print("nudging agrees:", mg.gradcheck(leaves_the_graph, mg.tensor(3.0), raise_exception=False))

# %% [markdown]
# A tape would have said `None` here; a transform says 0, and 0 looks like an answer. Call the referee when a gradient
# is 0 and should not be: it nudges, and does not believe anyone.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("07_tapes_and_transforms")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
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
# PyTorch's `grad_and_value` gives the gradient first. `tfp` is TensorFlow Probability, and the name is
# `value_and_gradient(f, x)`. In the last row x left through `x.item()`; JAX refuses `float(x)` at once.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - `.backward()`, a tape and a transform are three questions to one engine. They differ in where the answer goes and in
#   what counts as recorded.
# - A tape hears what runs inside its block, from what it watches. `None` means that it has heard nothing in between.
# - Transforms give functions and so nest. `jacrev` goes back with a row for each output, `jacfwd` forward with a
#   column for each input.
# - The backward pass can be recorded too: that is all there is to a second derivative. A product with the Hessian costs
#   one run, and the bytes of a gradient.
# - A transform trusts that your function is one. The referee does not.
#
# **Sources.** B. A. Pearlmutter, *Fast exact multiplication by the Hessian*, Neural Computation 6 (1994), 147-160: the
# product without the table, from its equation 1. Y. LeCun, P. Simard, B. A. Pearlmutter, *Automatic learning rate
# maximization by on-line estimation of the Hessian's eigenvectors*, NIPS 5 (1993), 156-163: the limit 2/λ. J. M.
# Siskind, B. A. Pearlmutter, *Perturbation confusion and referential transparency*, IFL (2005): why transforms make
# aliases of their arguments. R. Frostig, M. J. Johnson, C. Leary, *Compiling machine learning programs via high-level
# tracing*, SysML (2018): transforms of pure functions. A. Agrawal and others, *TensorFlow Eager: A multi-stage,
# Python-embedded DSL for machine learning*, SysML (2019): tapes.
#
# **Exercise.** [07 Asked three ways](../exercises/07_asked_three_ways.ipynb): predict what a tape says, climb a ladder
# of derivatives, mend two tapes, ask for a curvature on a budget, and design a landscape.
#
# **Next:** [08 A graph for each input](08_a_graph_for_each_input.ipynb) lets Python's own `if` and `for`
# shape the graph.
