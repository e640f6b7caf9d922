# ---
# jupyter:
#   minigrad:
#     title: The dynamic graph
#     minutes: 45
#     objectives:
#     - read off any tensor whether it was recorded, by which operation, and from what
#     - say what each operation keeps in the forward pass and when it is let go, in bytes
#     - say what zero_grad clears, and what has no need of it
#     - stop recording on purpose, and recognise the edits that backward refuses and the one it cannot see
#     concepts: [B1, B2, B3, B4, B5]
#     builds_on: [04_tensors]
#     widgets: [StaticVsDynamic, MemoryTimeline, Predict, Quiz]
#     terms:
#       dynamic graph: the graph of what has run, which eager code leaves behind and each run builds anew
#       saved value: an array that an operation keeps in the forward pass, because its derivative will read it
#       gradient accumulation: leaving .grad uncleared over several backward passes, so that one step follows the sum of
#         their gradients
#       reference counting: how Python frees memory; each object knows how many references there are to it, and goes
#         with the last one
#       hook: a function that is called with a gradient where it arrives, and may send on another in its place
#       in-place edit: an operation that writes its result into the memory of its operand instead of into new memory
#       version counter: a count of the edits that a piece of memory has seen, by which backward checks saved values
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 06 The dynamic graph
#
# > RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have
# > already been freed).
#
# > RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
#
# Everyone who trains with PyTorch meets these two. After this lesson you can say what each of them saves you from.
#
# You write three lines of arithmetic, and afterwards there is a graph. You did not ask for one. **Who made it, what
# does it hold on to, and when does it let go?** Most of what goes wrong in training code (memory that grows, gradients
# that are twice what they should be, an error about values that are gone) is an answer to this question.
#
# **About 45 minutes.** Afterwards you can
#
# - read off any tensor whether it was recorded, by which operation, and from what;
# - say what each operation keeps in the forward pass and when it is let go, in bytes;
# - say what `zero_grad` clears, and what has no need of it;
# - stop recording on purpose, and recognise the edits that backward refuses and the one it cannot see.
#
# **Builds on** [04 A whole array is one node](04_tensors.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): arrows, and the walk back.

# %% slideshow={"slide_type": "skip"}
import gc
import textwrap
import tracemalloc

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.core.modes import watching
from minigrad.widgets import MemoryTimeline, StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The graph grows line by line
#
# There is no step called *build the graph*. Each operation computes its result, as in NumPy, and then writes one entry
# into a record: what it was, and which operands it had. The records are the **dynamic graph**: each run leaves its own.
# But not every operation is in it: five run in this function. How many of them will be in the graph of `y`?


# %%
def f(x, w, k):
    c = k * k
    h = x * w
    x.exp()  # whose result is dropped
    s = h + c
    return s.tanh()


x = mg.tensor(0.5, requires_grad=True)
w = mg.tensor(2.0, requires_grad=True)
k = mg.tensor(3.0)

# %% slideshow={"slide_type": "fragment"}
Predict("five ran", "How many of the five operations will be in the graph of y?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Let them vote before the reveal. The usual answers are 5 (everything that ran) and 4 (all but the unused
# one). Ask those who say 3 which two are missing, and whether they are missing for the same reason. They are not.

# %% [markdown] slideshow={"slide_type": "fragment"}
# To look, we need a way in. The newest entry is the result's `grad_fn`; an entry's `next_functions` are the entries
# that the gradient goes to from there, each in a pair with a 0 that we ignore. At a leaf the path ends, with an entry
# called AccumulateGrad.


# %%
def recorded(y):
    """The entries that y came from, newest first, each once."""
    found, waiting = [], [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry.name() != "AccumulateGrad" and entry not in found:
            found.append(entry)
            waiting += [before for before, _ in entry.next_functions]
    return found


y = f(x, w, k)
print(*recorded(y))
reveal("five ran", len(recorded(y)))

# %% [markdown]
# Two are missing, for two reasons. `x.exp()` was recorded, but `y` does not come from it: when its result was dropped,
# its entry went too. (Python counts the references to each object, and frees it when the last one is gone: **reference
# counting**. Entries refer to what came before, and never back, so no garbage collector has to come by.) `k * k` was
# computed and never recorded: neither of its operands asked for a gradient, so backward has no business there. What
# is recorded is the minimum, and it is recorded **while the line runs.**

# %% [markdown] slideshow={"slide_type": "subslide"}
# Watch it grow. Click the widget, then press → line by line, and look at the left-hand side: after which line is there
# a graph, and from which line on are there values in it? (On the right the same lines build a graph first and compute
# later. That is lesson 09; for now it shows what *dynamic* is the opposite of.) The widget draws the whole run, `k * k`
# and `x.exp()` too. The record is the part of it that leads from `y` back to `x` and `w`: trace it with a finger.

# %%
StaticVsDynamic(f, x, w, k)

# %% [markdown] slideshow={"slide_type": "notes"}
# 3 minutes. Step with the class; before each step ask which box comes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a tensor knows of its past
#
# Three attributes. `requires_grad` says whether backward will pass through; `grad_fn` is the entry of the operation
# that made it; `is_leaf` says that no recorded operation did. Here is the product of lesson 02, `z = x * y` at 2 and 3.
# What is `x.grad_fn`?

# %% slideshow={"slide_type": "fragment"}
Predict("x.grad_fn", "What is x.grad_fn, for a leaf x?", options=["None", "<AccumulateGrad>", "<MulBackward>"])

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor(2.0, requires_grad=True)
y = mg.tensor(3.0, requires_grad=True)
z = x * y
c = mg.tensor(5.0) * 2
for name, t in {"x": x, "z": z, "c": c}.items():
    print(f"{name}: is_leaf={t.is_leaf!s:5}  requires_grad={t.requires_grad!s:5}  grad_fn={t.grad_fn}")
z.backward()
print("x.grad =", x.grad, " y.grad =", y.grad)
reveal("x.grad_fn", str(x.grad_fn))

# %% [markdown]
# A leaf has no past, so its `grad_fn` is `None`. And the AccumulateGrad from above? It made nothing: it stands where a
# way back arrives *at* a leaf, and pays into `x.grad`. `z` was made by ×, and its entry is named after the derivative
# that backward will run: MulBackward. `c` was computed, and yet it is a leaf: for the record a leaf is *what no
# recorded operation made*.
#
# With arrays it is no different. One entry stands for the whole array:

# %% slideshow={"slide_type": "subslide"}
x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = mg.tensor([4.0, 5.0, 6.0], requires_grad=True)
loss = (x * y).sum()


def tree(entry, depth=0):
    print("    " * depth + str(entry))
    for before, _ in entry.next_functions:
        tree(before, depth + 1)


tree(loss.grad_fn)
loss.backward()
print("x.grad =", x.grad)
print("y.grad =", y.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `.grad` is an account
#
# `backward()` pays into the `.grad` of the leaves; lesson 02 showed that a second pass adds to the first. In training,
# `zero_grad()` empties the account before each step. Which accounts must it empty? There are a few leaves and, in a
# network, thousands of intermediate results. Backward does not leave a `.grad` on those, unless you ask with
# `retain_grad()`. So let us ask, run forward and backward twice, and clear **nothing.** What is in `h.grad` after the
# second run?


# %%
def run(x):
    h = x * x
    h.retain_grad()
    (2 * h).backward()
    return h


x = mg.tensor(3.0, requires_grad=True)
first = run(x)
print("after the first run:  x.grad =", x.grad, " h.grad =", first.grad)

# %% slideshow={"slide_type": "fragment"}
Predict("h.grad after two", "What is in the second h.grad, when nothing was cleared?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. This is about the belief that zero_grad clears every node. Let somebody argue for 4 before the reveal, then
# ask: how many h are there?

# %% slideshow={"slide_type": "fragment"}
second = run(x)
print("after the second run: x.grad =", x.grad, " h.grad =", second.grad)
print("is it the same h?", first is second)
reveal("h.grad after two", second.grad)

# %% [markdown]
# `x.grad` went from 12 to 24, and `h.grad` did not double: the second run made a new `h`, and a new tensor starts with
# an empty account. `zero_grad` is about what lives on from run to run, and that means the leaves that you train. That
# is why an optimizer needs to know the parameters, and nothing about the graph.
#
# An emptied account is `None`: nothing has been paid in, which is not the same as 0. And adding up is useful: two
# losses, one `backward()` each, leave the gradient of their sum. So a batch that is too large for memory can be taken
# in parts, with one `step()` after the last: **gradient accumulation**.

# %%
optimizer = mg.optim.SGD([x], lr=0.1)
optimizer.zero_grad()
print("after zero_grad: x.grad =", x.grad, " h.grad =", second.grad)
(x**2).backward()
(5 * x).backward()
two_passes = x.grad
optimizer.zero_grad()
(x**2 + 5 * x).backward()
print("two losses, a pass each:", two_passes, "  their sum, one pass:", x.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What forward keeps
#
# An entry in the record costs little. What costs memory is what it holds on to: the slope of tanh is computed from
# tanh's result, so that result must be kept until backward comes by. Such an array is a **saved value**.
#
# We measure. `x` has a million numbers, 8 MB; Python's own tracer says how many arrays of that size were made and are
# still there. `forward` is four operations, one after the other, and three of them make an array of 8 MB. How many
# arrays are alive *beside x* when the forward pass is done?

# %%
tracemalloc.start()
x = mg.ones(2**20, requires_grad=True)
SIZE = x.numpy().nbytes


def alive():
    """How many arrays of x's size are in memory."""
    gc.collect()
    return round(tracemalloc.get_traced_memory()[0] / SIZE)


def forward(x):
    return ((x.exp() + 1).tanh()).sum()


print(f"{SIZE:,} bytes each; alive: {alive()}, which is x")

# %% slideshow={"slide_type": "fragment"}
Predict("kept by forward", "How many arrays of 8 MB are alive beside x after forward(x)?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Typical: 3 (all of them), or 0 (only y has a name, and it is one number). Ask them to write the slopes of
# exp, + and tanh beside the code first: which of the three slopes needs a number at all?

# %% slideshow={"slide_type": "fragment"}
y = None  # so that this cell can be run twice
before = alive()
y = forward(x)
after_forward = alive() - before
reveal("kept by forward", after_forward)

# %% [markdown]
# None of them has a name in Python, and yet two are there: the record holds them. The third, the result of `+ 1`, is
# gone. The derivative of + is 1 whatever was added, so it is not needed. Who keeps what, op by op? PyTorch and
# minigrad have the same peephole, made of two functions. One is shown each value as it is saved, the other as backward
# takes it out again; what they return is saved, or taken, in its place. Ours return what they were shown. (In the
# last line `b.detach()` is b without its wish for a gradient.)


# %% slideshow={"slide_type": "skip"}
def keeps(f, x, w):
    kept = []

    def look(t):
        kept.append(t)
        return t

    with mg.autograd.graph.saved_tensors_hooks(look, lambda t: t):
        y = f(x, w)
    places = {"x": x, "w": w, "result": y}
    found = [name for name, t in places.items() if any(np.shares_memory(t.numpy(), k.numpy()) for k in kept)]
    return ", ".join(found) or "nothing"


a, b = mg.rand(3, 3, requires_grad=True), mg.rand(3, 3, requires_grad=True)
for line in ("x + w", "x * w", "x @ w", "x.exp()", "x.sin()", "x.tanh()", "x.relu()", "x.sum()"):
    print(f"{line:8} keeps", keeps(eval(f"lambda x, w: {line}"), a, b))
print("x * w    keeps", keeps(lambda x, w: x * w, a, b.detach()), "when w wants no gradient")

# %% [markdown] slideshow={"slide_type": "skip"}
# Read it as a list of slopes. × needs the other operand, twice; exp, tanh and relu can read their slopes off their own
# results; sin needs its operand, for cos x; + and sum need nothing. If the gradient of one operand is not wanted, less
# is kept.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What backward frees
#
# When backward has passed an entry, its saved values are not needed again. So they are let go at once, one by one on
# the way back, rather than all at the end. `y` still exists afterwards, and so do the entries behind it; what they had
# saved is gone. And where no gradient will be asked for, `no_grad` keeps nothing in the first place:

# %%
y.backward()
print("after forward:     ", after_forward, "arrays beside x")
print("after backward:    ", alive() - before, "array beside x: x.grad")
x.grad = None
print("x.grad cleared:    ", alive() - before)
with mg.no_grad():
    y = forward(x)
print("forward in no_grad:", alive() - before, "arrays beside x,", len(recorded(y)), "entries")

# %% [markdown] slideshow={"slide_type": "subslide"}
# Now a network, and every byte of two training steps. Step through the first one with →. Is the peak in forward or
# in backward? Which row of the table falls step by step on the way back, and which one rises? Why does the second step
# start higher than the first one did?

# %%
hidden = [layer for _ in range(3) for layer in (mg.nn.Linear(16, 16), mg.nn.Tanh())]
model = mg.nn.Sequential(mg.nn.Linear(8, 16), mg.nn.Tanh(), *hidden, mg.nn.Linear(16, 1))
MemoryTimeline(model, mg.nn.functional.mse_loss, mg.ones(256, 8), mg.zeros(256, 1))

# %% [markdown] slideshow={"slide_type": "notes"}
# 5 minutes. The peak comes early in backward: most of what was saved is still there, and the first gradients are on
# their way. Saved values fall, gradients of parameters rise. The second step starts higher because Adam made its state
# in the first. The switches are for lesson 14; leave them off.

# %% [markdown] slideshow={"slide_type": "skip"}
# The first step has its peak, 192,416 bytes, early in backward: three of the four results of tanh are still there, and
# the first gradients are on their way. *Saved for backward* falls from 133,120 bytes to 0: first by the 2,048 of ^2,
# then a tanh at a time. *Gradients* rises to 72,208, those on their way and those of the parameters together; in the
# end only the latter are left, 7,816 bytes, as many as the parameters themselves take. The second step starts with
# 15,632 bytes more than the first, in the row *optimizer state*: the optimizer here is Adam, and from its first step on
# it keeps two numbers for each parameter, from which it chooses how far that parameter moves.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A second backward
#
# You met this error in lesson 02, and now you can say what it means, word by word. *Reached Mul a second time*: the
# entry is still there. *Freed what it had saved*: its x and y are not.
#
# That was a product. What happens if we do the same with a **sum?** The table above has the answer.

# %%
x = mg.tensor(2.0, requires_grad=True)
y = mg.tensor(3.0, requires_grad=True)
product = x * y
product.backward()
try:
    product.backward()
except mg.errors.FreedError as error:
    print(textwrap.fill(str(error), 80))

# %% slideshow={"slide_type": "fragment"}
Predict("sum, twice", "total = x + y. What does a second total.backward() do?", options=["an error", "no error"])

# %% slideshow={"slide_type": "fragment"}
x.grad = None
total = x + y
total.backward()
try:
    total.backward()
    happened = "no error"
except mg.errors.FreedError:
    happened = "an error"
print(f"{happened}; x.grad = {x.grad!s}")
reveal("sum, twice", happened)

# %% [markdown]
# A sum saves nothing, so nothing was freed, and the second pass pays in once more. The error is not a rule about
# calling twice. It is about values that are gone.
#
# `retain_graph=True` keeps them. Then a second pass is possible, but is it free? Take a trunk of ten operations, and
# two losses that share it and add one operation each. We let an object watch: inside `with watching(…)` the
# engine calls its `saw` for each operation, and its `pulled` for each derivative that backward runs.


# %% slideshow={"slide_type": "subslide"}
class Steps:
    """Counts derivatives as backward runs them."""

    def __init__(self):
        self.count = 0

    def saw(self, op, y, xs):
        pass

    def pulled(self, node, gy, gxs):
        self.count += 1


def two_losses(x):
    trunk = x
    for _ in range(10):
        trunk = trunk.tanh()
    return trunk * 3, trunk.exp()


# %%
Predict("two passes", "a.backward(retain_graph=True), then b.backward(): how many derivatives are run in all?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Draw the trunk and the two losses as a Y. Each pass walks down its own arm and then the whole stem. After
# the reveal: in which case would you still want two passes? When you need the two gradients apart.

# %%
a, b = two_losses(mg.tensor(0.5, requires_grad=True))
with watching(Steps()) as steps:
    a.backward(retain_graph=True)
    b.backward()
a, b = two_losses(mg.tensor(0.5, requires_grad=True))
with watching(Steps()) as together:
    (a + b).backward()
print("a pass for each loss:", steps.count, "derivatives;  one pass for their sum:", together.count)
reveal("two passes", steps.count)

# %% [markdown]
# The trunk was walked twice: 10 derivatives and one of its own for each loss. From the sum it was walked once: 10, one
# for each loss, and one for the + that joins them. A second backward costs a whole pass of work, and the saved values
# stay in memory until the last one. When you want the sum of the gradients, add the losses, and go back once. Keep the
# graph only when you need the gradients apart.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: a stethoscope, and one more account
#
# Between the loss and the leaves, gradients pass by and are gone. A **hook** sees them: a function that you register on
# a tensor and that is called with the gradient on arrival. You can follow the lesson without what is folded here: two
# hooks, and an exception to *`zero_grad` is about leaves*.

# %% [markdown]
# Six sigmoids in a row, and a hook on each:

# %%
sizes = []
x = h = mg.tensor(0.0, requires_grad=True)
for _ in range(6):
    h = h.sigmoid()
    h.register_hook(lambda gy: sizes.append(gy.item()))
h.backward()
print("arriving, from the last sigmoid back:", " ".join(f"{size:.4f}" for size in sizes))
print(f"arriving at x: {x.grad.item():.6f}")

# %% [markdown]
# Where a sigmoid gives s, its slope is s · (1 − s). That is at most 1/4, at s = 1/2; so each one takes away at least
# three quarters of what arrives. After six of them little is left: this is why deep networks of sigmoids learn slowly
# at the front, and the hook shows it happening.
#
# What a hook returns goes on in place of what arrived. Here one limits a gradient that has grown too large:

# %%
x = mg.tensor([1.0, 10.0], requires_grad=True)
h = x**2
h.register_hook(lambda gy: gy.clamp(-5, 5))
(h**2).sum().backward()
print("limited at h:", x.grad, " without the hook: 4 x³ =", 4 * x.detach() ** 3)

# %% [markdown]
# And the exception. On a graph that was kept by `retain_graph=True` there is no new `h`, so its account adds up too,
# and the optimizer does not know about it:

# %%
x = mg.tensor(3.0, requires_grad=True)
h = x * x
h.retain_grad()
for _ in range(2):
    mg.optim.SGD([x], lr=0.1).zero_grad()
    (2 * h).backward(retain_graph=True)
print("x.grad =", x.grad, " h.grad =", h.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Stopping the record
#
# `with mg.no_grad():` stops it for a block. `x.detach()` stops it for one value: it is the same number, in the same
# memory, without a past. At x = 3 the derivative of x · x is 6. What does backward find here?

# %% slideshow={"slide_type": "fragment"}
Predict("x * x.detach()", "y = x * x.detach() at x = 3. What is x.grad?")

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor(3.0, requires_grad=True)
(x * x.detach()).backward()
reveal("x * x.detach()", x.grad)

# %% [markdown]
# One of the two arrows was cut. The engine takes you at your word: *this factor is a constant*. It is an honest answer
# to a different question, and no error will tell you that it was not the one you asked.
#
# The step of gradient descent is the place where you must stop the record. It edits a leaf that wants a gradient, and
# while the record runs the engine refuses that:

# %%
try:
    x -= 0.1 * x.grad
except mg.errors.EditedError as error:
    print(textwrap.fill(str(error), 80))
with mg.no_grad():
    x -= 0.1 * x.grad
print("\ninside no_grad:", x)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## An edit in place
#
# `x -= …` wrote into x's own memory: an **in-place edit**. Methods that end in an underscore do the same: `h.add_(1)`
# is `h = h + 1` without a new array. It saves memory. But what if the old number was a saved value? Here exp has saved
# its result, and then we edit it. What does backward do?

# %% slideshow={"slide_type": "fragment"}
Predict(
    "edited",
    "h = x.exp(); h.add_(1); h.backward(). What happens?",
    options=["the right gradient", "a wrong gradient, and no word", "an error"],
)

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Work out with them what the gradient *would* be if the edit went unnoticed: the slope of exp is read off h,
# which is now e^x + 1. Off by one, with no sign of it. That is what the error saves you from.

# %%
x = mg.tensor(0.0, requires_grad=True)
h = x.exp()
saved_at = h._version
h.add_(1)
try:
    h.backward()
    happened = "the right gradient" if x.grad.item() == 1 else "a wrong gradient, and no word"
except mg.errors.EditedError as error:
    happened = "an error"
    print(textwrap.fill(str(error), 80))
print(f"\nedits of h when exp saved it: {saved_at}; edits now: {h._version}")
x = mg.tensor(0.0, requires_grad=True)
h = 2 * x
h.add_(1)
h.backward()
print("h = 2 * x; h.add_(1) is no trouble: x.grad =", x.grad)
reveal("edited", happened)

# %% [markdown]
# The slope of exp is its result, e⁰ = 1. The memory now holds 2, and that would have been the gradient. Each piece of
# memory has a **version counter**, which the engine raises at each edit in place; backward compares it with what it was
# when the value was saved. So the check is exact: an edit of what was not saved is allowed. In 2 * x, × saves the 2,
# which is the slope towards x, and not its result; so the second edit above is no trouble.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** The counter sits at the engine's door. `h.numpy()` is the same memory seen through a window, and
# an edit through the window rings no bell. The referee of lesson 02 notices: it compares with nudges, and a saved value
# that was changed does not agree with them.

# %%
x = mg.tensor([0.0, 1.0], requires_grad=True)
h = x.sigmoid()
h.numpy()[0] = 5
h.sum().backward()
print("edited through NumPy:", x.grad, " edits that were counted:", h._version)


def careless(x):
    h = x.sigmoid()
    h.numpy()[0] += 1
    return h.sum()


mg.gradcheck(careless, mg.tensor([0.0, 1.0]), raise_exception=False)

# %% [markdown]
# The slope s · (1 − s) was read off what is there now, 5 · (1 − 5) = −20. No slope of a sigmoid is below 0 or above
# 1/4, and backward did not complain; only gradcheck did. PyTorch has the same window. Ask for `h.numpy().copy()` if you
# mean to edit.
#
# The second break is quiet for another reason: nothing is wrong with the numbers. Say that you evaluate a model on five
# batches, and collect the losses to average them later. A loss that lives keeps its graph alive, and the graph its
# saved values. Memory that grows with every batch is nearly always this. Take `.item()`, or evaluate in `no_grad`:

# %%
x, losses = mg.ones(2**20, requires_grad=True), []
before = alive()
losses = [forward(x) for _ in range(5)]
print("five losses, one number each, keep", alive() - before, "arrays of 8 MB")
losses = [forward(x).item() for _ in range(5)]
print("five plain numbers keep", alive() - before)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("06_the_dynamic_graph")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|
# | `z.grad_fn`: `<MulBackward>` | the same: `<MulBackward0 …>` | on the tape, out of sight | in a jaxpr |
# | `loss.backward(retain_graph=True)` | the same | `GradientTape(persistent=True)` | the function of `jax.vjp` |
# | `h.retain_grad()`, then `h.grad` | the same | `tape.gradient(loss, h)` | make h an argument |
# | `optimizer.zero_grad()` | the same | not needed | not needed |
# | `with mg.no_grad():` | `with torch.no_grad():` | `with tape.stop_recording():` | do not ask for `grad` |
# | `x.detach()` | the same | `tf.stop_gradient(x)` | `jax.lax.stop_gradient(x)` |
# | `h.register_hook(f)` | the same | `tf.custom_gradient` | `jax.custom_vjp` |
# | `h.add_(1)`, `h._version` | the same | `v.assign_add(1)`, a variable only | `h.at[:].add(1)`, a new array |
# | `saved_tensors_hooks(pack, unpack)` | the same, in `torch.autograd.graph` | none | `print_saved_residuals` |
#
# TensorFlow and JAX cannot edit a tensor in place; PyTorch and minigrad allow it, to save memory, and check. A jaxpr is
# JAX's record of a traced function, and a residual is its word for a saved value; `print_saved_residuals` shows them,
# and changes none. It is in `jax.ad_checkpoint`, which has to be imported separately.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A graph is recorded while the lines run: an entry for each operation that a gradient may pass, and no other.
# - `.grad` adds up on what lives on: the leaves. Everything else is new in each run.
# - Saved values cost memory. You can read off the slopes which ones there are: + saves nothing, × both operands, exp
#   its result. Backward lets them go on its way, and so it can pass only once.
# - A second pass costs a second pass. Add the losses, and go back once.
# - `no_grad` and `detach` stop the record; the version counter refuses an edit of what was saved. Through `.numpy()`
#   an edit is not counted.
#
# **Sources.** A. Paszke and others, *Automatic differentiation in PyTorch*, NIPS Autodiff Workshop (2017), section 3:
# saved values that are let go early, edits in place and version counters. A. Paszke and others, *PyTorch: An imperative
# style, high-performance deep learning library*, NeurIPS 32 (2019), sections 4.3 and 5.5. S. Hochreiter,
# *Untersuchungen zu dynamischen neuronalen Netzen*, diploma thesis, TU München (1991): the gradient that vanishes.
#
# **Exercise.** [06 What a graph keeps](../exercises/06_what_a_graph_keeps.ipynb): read a record, repair an edit, go
# back once for many losses, and design a curve that keeps little.
#
# **Next:** [07 Tapes and transforms](07_tapes_and_transforms.ipynb) asks for the same derivative in two other ways.
