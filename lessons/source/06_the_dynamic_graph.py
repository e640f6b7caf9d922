# ---
# jupyter:
#   minigrad:
#     title: The dynamic graph
#     minutes: 55
#     objectives:
#     - read off any tensor whether it was recorded, by which operation, and from what
#     - say what each operation keeps in the forward pass and when it is freed, in bytes
#     - say which gradients zero_grad clears, and which never need clearing
#     - stop recording on purpose, and recognise the edits that backward refuses and the one it cannot see
#     concepts: [B1, B2, B3, B4, B5]
#     builds_on: [04_tensors]
#     widgets: [StaticVsDynamic, MemoryTimeline, Predict, Quiz]
#     terms:
#       dynamic graph: the graph that eager code records while it runs; every run builds a new one
#       saved value: an array that an operation keeps in the forward pass because its derivative will read it
#       gradient accumulation: running several backward passes before clearing .grad, so that one step follows the sum
#         of their gradients
#       reference counting: how Python frees memory; each object counts the references to it, and is freed when the last
#         one goes
#       hook: a function that is called with a gradient as it arrives, and may pass on another in its place
#       in-place edit: an operation that writes its result into the memory of its operand instead of into new memory
#       version counter: a count of the edits to a piece of memory, by which backward recognises a saved value that was
#         changed
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 06 The dynamic graph
#
# A model is trained overnight. In the morning it is dead: out of memory, some thousand batches in. The model did not
# grow, and neither did the batches. The culprit is one harmless line, `losses.append(loss)`.
#
# Everyone who trains with PyTorch meets this accident, and these two messages:
#
# > RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have
# > already been freed).
#
# > RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
#
# All three have the same cause. You write three lines of arithmetic, and afterwards there is a graph that you never
# asked for. **Who made it, what does it hold on to, and when does it let go?** At the end you can explain both
# messages, and you run the line that killed the model.
#
# **About 55 minutes.** Afterwards you can
#
# - read off any tensor whether it was recorded, by which operation, and from what;
# - say what each operation keeps in the forward pass and when it is freed, in bytes;
# - say which gradients `zero_grad` clears, and which never need clearing;
# - stop recording on purpose, and recognise the edits that backward refuses and the one it cannot see.
#
# **Builds on** [04 A whole array is one node](04_tensors.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): arrows, and the walk back.

# %% slideshow={"slide_type": "skip"}
import gc
import textwrap
import tracemalloc

import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.core.modes import watching
from minigrad.widgets import MemoryTimeline, StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The graph grows line by line
#
# You never call a function named *build the graph*. Each operation computes its result, as in NumPy, and then it may
# write an entry into a record: which operation it was, and which operands it had. These entries are the **dynamic
# graph**, and every run leaves a new one.
#
# Not every operation ends up in it. This function runs five. After `y = f(x, w, k)`, how many of them will be in the
# graph of `y`?


# %%
def f(x, w, k):
    c = k * k
    h = x * w
    x.exp()  # nobody uses the result
    s = h + c
    return s.tanh()


x = mg.tensor(0.5, requires_grad=True)
w = mg.tensor(2.0, requires_grad=True)
k = mg.tensor(3.0)
Predict("five ran", "How many of the five operations will be in the graph of y?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Let them vote before the reveal. The usual answers are 5 (everything that ran) and 4 (everything but the
# unused result). Ask those who say 3 which two are missing, and whether both are missing for the same reason. They are
# not.

# %% [markdown] slideshow={"slide_type": "fragment"}
# To count them, we need a way into the record. `y.grad_fn` is the newest entry: the operation that made y. An entry's
# `next_functions` lists the entries that the gradient goes to next. (Each comes in a pair with a 0, which we ignore.)
# Every path ends at an input such as x, in an entry called AccumulateGrad. It is no operation, so we leave it out.


# %%
def recorded(y):
    """List the operations that y came from, newest first."""
    entries, waiting = [], [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry.name() != "AccumulateGrad" and entry not in entries:
            entries.append(entry)
            waiting += [earlier for earlier, _ in entry.next_functions]
    return entries


y = f(x, w, k)
reveal("five ran", len(recorded(y)))

# %% [markdown]
# Two operations are missing, for two different reasons.
#
# `k * k` was computed and never recorded. Neither of its operands requires a gradient, so backward has nothing to do
# there.
#
# `x.exp()` *was* recorded, because x requires a gradient, and while the line runs nobody can know that its result will
# never be used. But nothing refers to that result afterwards, so Python freed it, and its entry with it. (Python counts
# the references to each object and frees the object when the last one goes: **reference counting**. Entries point only
# to what came before them, so no cycles arise, and no garbage collector has to clean up.)

# %% [markdown] slideshow={"slide_type": "subslide"}
# Watch it grow. Click the widget, press → line by line, and look at the left-hand side. It shows everything that runs,
# and each box comes with its value: building and computing are one step. Which two operations are missing from the
# record of `y`, printed above it? (On the right, the same lines build a graph first and compute later: lesson 09.)

# %%
print("in the record of y:", *recorded(y))
StaticVsDynamic(f, x, w, k)

# %% [markdown] slideshow={"slide_type": "notes"}
# 3 minutes. Step with the class; before each step ask which box comes next.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a tensor knows of its past
#
# Three attributes tell you. `requires_grad` says whether backward will come here. `grad_fn` is the entry of the
# operation that made the tensor. `is_leaf` says that no recorded operation made it. Take `z = x * y`, whose operands
# require gradients, and `c = mg.tensor(5.0) * 2`. How many of x, y, z and c are leaves?

# %% slideshow={"slide_type": "fragment"}
Predict("leaves", "x and y require gradients; z = x * y; c = mg.tensor(5.0) * 2. How many of the four are leaves?")

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor(2.0, requires_grad=True)
y = mg.tensor(3.0, requires_grad=True)
z = x * y
c = mg.tensor(5.0) * 2
tensors = {"x": x, "y": y, "z": z, "c": c}
reveal("leaves", sum(t.is_leaf for t in tensors.values()))

# %% slideshow={"slide_type": "fragment"}
for name, t in tensors.items():
    print(f"{name}: is_leaf={t.is_leaf!s:5}  requires_grad={t.requires_grad!s:5}  grad_fn={t.grad_fn}")

# %% [markdown]
# The surprise is `c`. An operation computed it, and it still counts as a leaf, because that operation was not recorded.
#
# The product made `z`, and its entry is named after the derivative that backward will run: MulBackward. No operation
# made x, so its `grad_fn` is `None`. AccumulateGrad did not make x either: it stands where the way back arrives, and
# adds the gradient to `x.grad`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `.grad` is an account
#
# `backward()` pays into the `.grad` of the leaves, and a second pass adds to the first (lesson 02). In training,
# `zero_grad()` empties the accounts before each step. Which accounts must it empty? A network has a few leaves and
# thousands of intermediate results. Backward leaves no `.grad` on the intermediate ones, unless you ask for it with
# `retain_grad()`.
#
# So let us ask, run forward and backward twice, and clear *nothing*. What is in `h.grad` after the second run?


# %%
def run(x):
    h = x * x
    h.retain_grad()
    (2 * h).backward()
    return h


x = mg.tensor(3.0, requires_grad=True)
first_h = run(x)
print("after the first run:  x.grad =", x.grad, " h.grad =", first_h.grad)
Predict("h.grad after two", "What is in the second h.grad, when nothing was cleared?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Many believe that zero_grad clears every node. Let somebody argue for 4 before the reveal, then ask how
# many tensors called h there are.

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor(3.0, requires_grad=True)  # a new x, so that this cell can be run twice
first_h, second_h = run(x), run(x)
reveal("h.grad after two", second_h.grad)

# %% [markdown]
# `x.grad` went from 12 to 24, but `h.grad` did not double. The second run made a new `h`, and a new tensor starts with
# an empty account. Only what survives from run to run needs clearing, and that is the leaves that you train. This is
# why an optimizer has to know the parameters, and nothing about the graph.
#
# ### Emptied, and added up
#
# An emptied account is `None`: nothing has been paid in, which is not the same as 0. And adding up is useful. Two
# losses with one `backward()` each leave the gradient of their sum. So if a batch is too large for your memory, take it
# in parts, and call `step()` once after the last part. This is **gradient accumulation**.

# %%
print("after the second run: x.grad =", x.grad, " h.grad =", second_h.grad, " the same h?", first_h is second_h)
optimizer = mg.optim.SGD([x], lr=0.1)
optimizer.zero_grad()
print("after zero_grad: x.grad =", x.grad, " h.grad =", second_h.grad)
(x**2).backward()
(5 * x).backward()
two_passes = x.grad
optimizer.zero_grad()
(x**2 + 5 * x).backward()
print("two losses, a pass each:", two_passes, "  their sum, one pass:", x.grad)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What forward keeps
#
# An entry in the record is small. What it *holds on to* can be large. Backward computes the slope of tanh from tanh's
# result, for example, so the entry must keep that result until backward comes by. (eˣ is its own slope.) An array kept
# like this is a **saved value**.
#
# Now we measure. `x` has a million numbers, 8 MB. Python's own tracer counts the arrays of that size. `forward` runs
# four operations, and three of them make an array of 8 MB. How many, not counting x, are alive when it is done?

# %%
tracemalloc.start()
x = mg.ones(2**20, requires_grad=True)
SIZE = x.numpy().nbytes


def alive():
    """Count the arrays of x's size that are in memory."""
    gc.collect()
    return round(tracemalloc.get_traced_memory()[0] / SIZE)


def forward(x):
    return ((x.exp() + 1).tanh()).sum()


print(f"{SIZE:,} bytes each; alive: {alive()}, which is x")
Predict("kept by forward", "How many arrays of 8 MB are alive after forward(x), not counting x?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Typical answers are 3 (all of them) and 0 (only y has a name, and it is one number). Ask them to write the
# slopes of exp, + and tanh next to the code first: which of these slopes needs a number at all?

# %% slideshow={"slide_type": "fragment"}
y = None  # so that this cell can be run twice
alive_before = alive()
y = forward(x)
alive_after = alive() - alive_before
reveal("kept by forward", alive_after)

# %% [markdown]
# None of the three has a name in Python, and yet two are alive: the record holds them. The third, the result of `+ 1`,
# is gone. The slope of + is 1 whatever you add, so no entry needs it.
#
# ### What does each operation keep?
#
# A pair of functions, `saved_tensors_hooks`, lets us look: the engine calls the first with each value that it saves,
# and the second when backward takes the value out again. (`b.detach()` in the last line is b with `requires_grad` off.)


# %% slideshow={"slide_type": "skip"}
def names_of_saved(f, x, w):
    """Say which of x, w and the result f(x, w) keeps for backward."""
    saved = []

    def remember(t):
        saved.append(t)
        return t

    with mg.autograd.graph.saved_tensors_hooks(remember, lambda t: t):
        y = f(x, w)
    arrays = {"x": x, "w": w, "result": y}
    names = [name for name, t in arrays.items() if any(np.shares_memory(t.numpy(), s.numpy()) for s in saved)]
    return ", ".join(names) or "nothing"


a, b = mg.rand(3, 3, requires_grad=True), mg.rand(3, 3, requires_grad=True)
for line in ("x + w", "x * w", "x @ w", "x.exp()", "x.sin()", "x.tanh()", "x.relu()", "x.sum()"):
    print(f"{line:8} keeps", names_of_saved(eval(f"lambda x, w: {line}"), a, b))
print("x * w    keeps", names_of_saved(lambda x, w: x * w, a, b.detach()), "when w requires no gradient")

# %% [markdown] slideshow={"slide_type": "skip"}
# Read it as a list of slopes. Each factor of × has the other factor as its slope, so × keeps both. exp, tanh and relu
# can read their slope off their own result; sin needs its operand, for cos x; + and sum need nothing. Where an operand
# requires no gradient, less is kept.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What backward frees
#
# Once backward has passed an entry, its saved values are freed at once, one by one on the way back. `y` and the entries
# behind it still exist afterwards; the arrays do not. And if you will not ask for a gradient at all, `no_grad` keeps
# nothing in the first place:

# %%
y.backward()
print("after forward:     ", alive_after, "arrays and x")
print("after backward:    ", alive() - alive_before, "array and x (the new one is x.grad)")
x.grad = None
print("x.grad cleared:    ", alive() - alive_before, "arrays and x")
with mg.no_grad():
    y = forward(x)
print("forward in no_grad:", alive() - alive_before, "arrays and x,", len(recorded(y)), "entries")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: every byte of two training steps
#
# Here is a network, with all the memory of two training steps. Step through the first one with →. Is the peak in
# forward or in backward? Which row of the table falls step by step on the way back, and which one rises? Why does the
# second step start higher than the first?


# %%
class Softplus(mg.nn.Module):  # a layer of three operations
    def forward(self, x):
        return (x.exp() + 1).log()


hidden = [layer for _ in range(3) for layer in (mg.nn.Linear(16, 16), Softplus())]
model = mg.nn.Sequential(mg.nn.Linear(8, 16), Softplus(), *hidden, mg.nn.Linear(16, 1))
timeline = MemoryTimeline(model, mg.nn.functional.mse_loss, mg.ones(250, 8), mg.zeros(250, 1))
timeline

# %% [markdown] slideshow={"slide_type": "notes"}
# If you unfold this in class, take 5 minutes. The switches are for lesson 14; leave them off.

# %% [markdown] slideshow={"slide_type": "skip"}
# The peak of the first step, 441,824 bytes, comes near the end of forward, when the last log has made its result.
# *Saved for backward* then falls from 386,000 bytes to 0. *Gradients* rises, and at the end 7,816 bytes of it are left,
# exactly the size of the parameters. The second step starts with 15,632 bytes more, in the row *optimizer state*: the
# optimizer here is Adam, which keeps two numbers for each parameter from its first step on.
#
# The table *The peak of each run* already answers a question of lesson 14: can the peak be lower?

# %% slideshow={"slide_type": "skip"}
for way, entries in timeline.runs.items():
    if way.micro == 1:
        print(f"{way!s:34} peak {max(entry.total for entry in entries):,} bytes")

# %% [markdown] slideshow={"slide_type": "skip"}
# Checkpoints (lesson 21) lower it, and so does a plan (lesson 14). Both together raise it: each part between two
# checkpoints becomes a program of its own, and each program keeps its workspace from its first call on.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A second backward
#
# You met this error in lesson 02, on a product:

# %%
x = mg.tensor(2.0, requires_grad=True)
y = mg.tensor(3.0, requires_grad=True)
product = x * y
product.backward()
try:
    product.backward()
except mg.errors.FreedError as error:
    print(textwrap.fill(str(error), 80))

# %% [markdown] slideshow={"slide_type": "fragment"}
# Now you can read it word by word. *Reached Mul a second time*: the entry is still there. *Freed what it had saved*:
# the entry has let go of x and y.
#
# What happens if we do the same with a *sum*?

# %% slideshow={"slide_type": "fragment"}
Predict("sum, twice", "total = x + y. What does a second total.backward() do?", options=["an error", "no error"])

# %% slideshow={"slide_type": "fragment"}
x.grad = None
total = x + y
total.backward()
try:
    total.backward()
    outcome = "no error"
except mg.errors.FreedError:
    outcome = "an error"
reveal("sum, twice", outcome)

# %% slideshow={"slide_type": "fragment"}
print(f"{outcome}; x.grad = {x.grad!s}")

# %% [markdown]
# A sum saves nothing, so backward freed nothing, and the second pass added to `x.grad` again. No rule forbids a second
# `backward`. The error says that the second pass needs values which are gone.
#
# ### What does a second pass cost?
#
# `retain_graph=True` keeps those values, so that a second pass is possible. But is it free? Take a trunk of ten
# operations, and two losses that share it and add one operation each. `DerivativeCounter` counts the derivatives that
# backward runs.


# %% slideshow={"slide_type": "subslide"}
class DerivativeCounter:
    """Watches the engine, which calls on_forward for each operation and on_backward for each derivative."""

    def __init__(self):
        self.count = 0

    def on_forward(self, op, y, xs):
        pass

    def on_backward(self, node, gy, gxs):
        self.count += 1


def two_losses(x):
    trunk = x
    for _ in range(10):
        trunk = trunk.tanh()
    return trunk * 3, trunk.exp()


Predict("two passes", "a.backward(retain_graph=True), then b.backward(): how many derivatives run in all?")

# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Draw the trunk and the two losses as a Y. Each pass walks down its own arm and then the whole stem. After
# the reveal, ask when you would still want two passes: when you need the two gradients separately.

# %%
a, b = two_losses(mg.tensor(0.5, requires_grad=True))
with watching(DerivativeCounter()) as separate:
    a.backward(retain_graph=True)
    b.backward()
a, b = two_losses(mg.tensor(0.5, requires_grad=True))
with watching(DerivativeCounter()) as together:
    (a + b).backward()
display(reveal("two passes", separate.count))
print("a pass for each loss:", separate.count, "derivatives;  one pass for their sum:", together.count)

# %% [markdown]
# Each of the two passes walked the whole trunk: 10 derivatives, and 1 for its own loss. The pass from the sum walked
# the trunk once: 10, 1 for each loss, and 1 for the + that joins them. So a second backward costs a whole pass of work,
# and keeps the saved values in memory until it is done. Add the losses and go back once, unless you need the two
# gradients separately.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: a stethoscope, and one more account
#
# Between the loss and the leaves, gradients pass by and are freed. A **hook** lets you see them: you register a
# function on a tensor, and it is called with each gradient that arrives there. This section shows two hooks, and an
# exception to *only leaves need clearing*. You can follow the lesson without it.

# %% [markdown]
# Here are six sigmoids in a row, with a hook on each:

# %%
sizes = []
x = h = mg.tensor(0.0, requires_grad=True)
for _ in range(6):
    h = h.sigmoid()
    h.register_hook(lambda gradient: sizes.append(gradient.item()))
h.backward()
print("arriving, from the last sigmoid back:", " ".join(f"{size:.4f}" for size in sizes))
print(f"arriving at x: {x.grad.item():.6f}")

# %% [markdown]
# A sigmoid that gives s has the slope s · (1 − s), which is at most 1/4. So each sigmoid takes away at least three
# quarters of what arrives, and after six of them little is left. This is why deep networks of sigmoids learn slowly at
# the front, and the hook shows it happening.
#
# Whatever a hook returns goes on in place of the gradient that arrived. This hook limits a gradient that has grown too
# large:

# %%
x = mg.tensor([1.0, 10.0], requires_grad=True)
h = x**2
h.register_hook(lambda gradient: gradient.clamp(-5, 5))
(h**2).sum().backward()
print("limited at h:", x.grad, " without the hook: 4 x³ =", 4 * x.detach() ** 3)

# %% [markdown]
# And the exception: if `retain_graph=True` keeps the graph, the second pass meets the same `h` again. Its account adds
# up too, and the optimizer does not know about it:

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
# `with mg.no_grad():` stops the record for a block. `x.detach()` stops it for a single value: it returns the same
# number, in the same memory, without a past. At x = 3 the derivative of x · x is 6. What does backward find here?

# %% slideshow={"slide_type": "fragment"}
Predict("x * x.detach()", "y = x * x.detach() at x = 3. What is x.grad?")

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor(3.0, requires_grad=True)
(x * x.detach()).backward()
reveal("x * x.detach()", x.grad)

# %% [markdown]
# You cut one of the two arrows, so the engine treats that factor as a constant, as you told it to. The result is the
# right answer to a different question, and no error tells you that you asked the wrong one.
#
# ### Where you must stop it
#
# In one place you *must* stop the record: the step of gradient descent. It edits a leaf that requires a gradient, and
# while the record is on, the engine refuses. This is the second message from the top of the lesson, in minigrad's
# words:

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
# `x -= …` wrote into x's own memory: that is an **in-place edit**. Methods that end in an underscore do the same:
# `h.add_(1)` is `h = h + 1` without a new array. It saves memory, but what if the old number was a saved value?
#
# The engine counts. Every piece of memory has a **version counter**, which each in-place edit raises. When backward
# takes out a saved value, it compares the counter with what it was when the value was saved. If they differ, it raises
# an error.
#
# We take `x.exp()`, `x.sin()`, `2 * x` and `x.tanh()`, and edit each result with `h.add_(1)`. How many of the four does
# backward refuse?

# %% slideshow={"slide_type": "fragment"}
Predict("refused edits", "For how many of exp, sin, 2 * x and tanh does backward raise an error after the edit?")


# %% [markdown] slideshow={"slide_type": "notes"}
# 4 minutes. Point at the table of saved values: it has the answer. Then work out with them what the gradient of exp
# *would* be if the edit went unnoticed: its slope is read off h, which is now eˣ + 1. It would be off by one, without
# a word. That is what the error saves you from.


# %%
def refusal(operation):
    """Edit the result of an operation, and return what backward says: an error, or ""."""
    h = operation(mg.tensor(0.0, requires_grad=True))
    version_before = h._version
    h.add_(1)
    try:
        h.backward()
    except mg.errors.EditedError as error:
        return f"{textwrap.fill(str(error), 80)}\nedits when it was saved: {version_before}; edits now: {h._version}"
    return ""


operations = {"exp": mg.exp, "sin": mg.sin, "2 * x": lambda x: 2 * x, "tanh": mg.tanh}
refusals = {name: refusal(operation) for name, operation in operations.items()}
reveal("refused edits", sum(map(bool, refusals.values())))

# %%
for name, message in refusals.items():
    print(f"{name}: {message or 'no error'}")

# %% [markdown]
# exp and tanh saved their results, and the edit wrote over them. The slope of exp at 0 is its result, e⁰ = 1. The
# memory now holds 2, and without the counter that wrong number would have been your gradient. sin saved its operand,
# and × saved the 2, which is the slope towards x. Nobody edited those, so nothing is wrong, and backward says nothing.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Only minigrad's own operations raise the counter. `h.numpy()` is a second window onto the same
# memory, and NumPy tells nobody when it writes through it. `gradcheck`, our referee from lesson 02, can still notice:
# it compares the gradient with nudges.

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
# Backward read the slope s · (1 − s) off what is in the memory now: 5 · (1 − 5) = −20. No sigmoid has a slope below 0
# or above 1/4, and backward did not complain. Only gradcheck did, with `False`.
#
# PyTorch makes it harder to open this window. It answers `h.numpy()` with
#
# > Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.
#
# If you follow that advice and edit, you get the same −20. In both frameworks, edit a copy:
# `h.detach().numpy().copy()`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The line that killed the model
#
# Now for the model that died overnight. It kept the loss of every batch, to average them in the morning. Each loss is a
# single number. Take `forward` from above, with its x of 8 MB, and append the losses of five batches to a list.

# %% slideshow={"slide_type": "fragment"}
Predict("five losses", "losses.append(forward(x)), five times: how many arrays of 8 MB stay, not counting x?")

# %% slideshow={"slide_type": "fragment"}
x, losses = mg.ones(2**20, requires_grad=True), []
alive_before = alive()
for _ in range(5):
    losses.append(forward(x))
kept = alive() - alive_before
losses = [forward(x).item() for _ in range(5)]
display(reveal("five losses", kept))
print("five losses keep", kept, "arrays of 8 MB; five plain numbers keep", alive() - alive_before)

# %% [markdown] slideshow={"slide_type": "fragment"}
# A loss that is alive keeps its graph alive, and the graph keeps its saved values: two arrays per batch, for ever. When
# memory grows with every batch, this is nearly always the reason. Take `.item()`, which is a plain number without a
# past, or evaluate in `no_grad`.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("06_the_dynamic_graph")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
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
# JAX's record of a traced function. A residual is its word for a saved value; `print_saved_residuals`, in
# `jax.ad_checkpoint`, lists them.
#
# ### The same in PyTorch
#
# A second backward fails where values were saved, and an edit is refused where it wrote over a saved value. Which of
# the four lines will PyTorch refuse?


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def what_pytorch_refuses(torch):
    """
    x * x, second backward   refused
    x + x, second backward   no error
    x.exp(), edited          refused
    x.sin(), edited          no error
    """

    def go_back(what, y):
        try:
            y.backward()
            print(f"{what:24} no error")
        except RuntimeError:
            print(f"{what:24} refused")

    x = torch.tensor(2.0, requires_grad=True)
    for what, y in {"x * x, second backward": x * x, "x + x, second backward": x + x}.items():
        y.backward()
        go_back(what, y)
    go_back("x.exp(), edited", x.exp().add_(1))
    go_back("x.sin(), edited", x.sin().add_(1))


# %% [markdown] slideshow={"slide_type": "skip"}
# `GraphView` draws PyTorch's graph too. How many numbers does PyTorch save for $e^{x·x}$?


# %% slideshow={"slide_type": "skip"}
@in_pytorch
def what_pytorch_saves(torch):
    """
    x, f32[], a leaf, saved for backward
    MulBackward0, f32[], saves other f32[], 4 bytes, saves self f32[], 4 bytes
    ExpBackward0 → y, f32[] = 54.6, saves result f32[], 4 bytes, saved for backward
    """
    x = torch.tensor(2.0, requires_grad=True)
    y = (x * x).exp()
    print(mg.widgets.GraphView(y, names={"x": x, "y": y}).text)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A graph is recorded while the lines run, with an entry for each operation that has an operand requiring a gradient.
#   An entry lives as long as something refers to it.
# - `.grad` adds up on what survives a run: the leaves. Everything else is new in each run.
# - Saved values cost memory, and the slopes tell you which there are: + saves nothing, × both operands, exp its result.
#   Backward frees them on its way, so a second pass fails where something was saved.
# - A second pass costs a second pass. Add the losses, and go back once.
# - `no_grad` and `detach` stop the record. The version counter refuses an edit of a saved value, but does not count
#   edits through NumPy.
# - If you keep a loss, you keep its whole graph.
#
# **Sources.** A. Paszke and others, *Automatic differentiation in PyTorch*, NIPS Autodiff Workshop (2017), section 3:
# saved values that are freed early, edits in place and version counters. A. Paszke and others, *PyTorch: An imperative
# style, high-performance deep learning library*, NeurIPS 32 (2019), sections 4.3 and 5.5. S. Hochreiter,
# *Untersuchungen zu dynamischen neuronalen Netzen*, diploma thesis, TU München (1991): the gradient that vanishes.
#
# **Exercise.** [06 What a graph keeps](../exercises/06_what_a_graph_keeps.ipynb): read a record, repair an edit, go
# back once for many losses, and design a curve that keeps little.
#
# **Next:** [07 Tapes and transforms](07_tapes_and_transforms.ipynb) asks for the same derivative in two other ways.
