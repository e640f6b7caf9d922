# ---
# jupyter:
#   minigrad:
#     title: Asked three ways
#     minutes: 25
#     lesson: 07_tapes_and_transforms
#     concepts: [B6, B7]
# ---

# %% [markdown]
# # 07 Asked three ways
#
# Predict what a tape says, mend two tapes, and ask for a curvature on a budget. About 25 minutes, in three parts; two
# more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap

# %% [markdown]
# ## 1. What the tape has recorded
#
# **2 points, 6 minutes.** Read this, and do not run it yet. The comment behind a line is the name for your answer.
#
# ```python
# w = mg.tensor(3.0, requires_grad=True)
# c = mg.tensor(2.0)
# h = w * w
# with mg.GradientTape(persistent=True) as tape:    # a persistent tape answers more than once
#     z = h * w + c * w
#
# tape.gradient(z, w)          # by_w
# tape.gradient(z, c)          # by_c
# tape.gradient(z, w)          # by_w_again
# w.grad                       # w_grad
# ```
#
# Each answer is a number, or `None` without quotation marks.

# %% answer="heard" points=2 minutes=6
### BEGIN SOLUTION
by_w = 11
by_c = None
by_w_again = 11
w_grad = None
### END SOLUTION

# %%
check("heard")

# %% probes="heard"
# Hint: `by_w`: to the tape, whatever ran before the block is a given number. Here that is h = 9.
by_w
# Hint: `by_c`: a plain tensor is watched only if somebody calls `tape.watch`.
by_c
# Hint: `by_w_again`: a persistent tape may be asked twice, and nothing is added up.
by_w_again
# Hint: `w_grad`: a tape returns its answers. Who writes into `.grad`?
w_grad

# %% [markdown] hints="heard"
# 1. Underline what ran inside the block. Whatever came before, the tape takes as given.
# 2. w wants a gradient, and is watched without your asking. c is a plain tensor, and nobody called watch.
# 3. Inside, z = 9 · w + 2 · w to the tape, since h is 9 and c is 2. A tape returns its answers, and pays into no
# account.

# %% [markdown] shows="heard"
# To a tape everything is a constant, except what it watches and what is computed from that inside the block.

# %% wrong="heard"
# Shows: The derivative of w³ + 2w was taken, 27 + 2. But h = w · w ran before the block, and the tape did not record
# it.
# Hint: To the tape h is a given number, 9, not a function of w.
by_w, by_c, by_w_again, w_grad = 29, None, 29, None

# %% wrong="heard"
# Shows: The answer takes c to be watched, because it is used. But c is a plain tensor, and nobody called tape.watch(c).
# Hint: Without asking, a tape watches only leaves with requires_grad=True.
by_w, by_c, by_w_again, w_grad = 11, 3, 11, None

# %% wrong="heard"
# Shows: The answer takes tape.gradient to write into w.grad, as backward() does.
# Hint: A tape returns its answer, and leaves `.grad` alone.
by_w, by_c, by_w_again, w_grad = 11, None, 11, 11

# %% wrong="heard"
# Shows: The answer adds the second gradient to the first.
# Hint: What adds up is .grad, and a tape does not touch it. Each question gets its own answer.
by_w, by_c, by_w_again, w_grad = 11, None, 22, None

# %% wrong="heard"
# Shows: The answer takes tape.gradient for backward(): it would write into w.grad, and add to it at the second call.
# Hint: A tape returns its answer. It stores nothing, so nothing adds up.
by_w, by_c, by_w_again, w_grad = 11, None, 22, 22

# %% wrong="heard"
# Shows: The answer expects None at the second call. But this tape is persistent.
# Hint: persistent=True keeps what was saved, for as many questions as you like. (Any other tape raises an error.)
by_w, by_c, by_w_again, w_grad = 11, None, None, None

# %% wrong="heard"
# Shows: The answer expects the gradient 0 where nothing is connected.
# Hint: 0 would be an answer. None says that there is none: nothing was recorded between z and c, and nobody wrote into
# w.grad.
by_w, by_c, by_w_again, w_grad = 11, 0, 11, 0

# %% wrong="heard"
# Shows: `None` is written as text.
# Hint: `None` is a value of Python: write it without quotation marks.
by_w = 11.0
by_c = "None"
by_w_again = 11.0
w_grad = "None"

# %% [markdown]
# ## 2. Two tapes to mend
#
# **2 points, 9 minutes.** This function should return the first and the second derivative of `f` at `x`, a tensor of
# one number. It returns `(None, None)`:
#
# ```python
# def slope_and_bend(f, x):
#     with mg.GradientTape() as outer:
#         with mg.GradientTape() as inner:
#             y = f(x)
#     slope = inner.gradient(y, x)
#     bend = outer.gradient(slope, x)
#     return slope, bend
# ```
#
# There are two mistakes in it. Write it again without them. It must work for a plain tensor, and for one with
# `requires_grad=True`.
#
# Example: for f(x) = x³ at x = 3, it returns 27 and 18.


# %% answer="two_tapes" points=2 minutes=9
def slope_and_bend(f, x):
    ### BEGIN SOLUTION
    with mg.GradientTape() as outer:
        outer.watch(x)
        with mg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)
    return slope, bend
    ### END SOLUTION


# %%
check("two_tapes")

# %% probes="two_tapes"
import minigrad


def number(y):
    return None if y is None else round(float(y), 6)


def both(f, x, wanted=False):
    return [number(y) for y in slope_and_bend(f, minigrad.tensor(x, requires_grad=wanted))]


# Hint: x is a plain tensor: both tapes must be told to watch it, and the outer tape must record how the slope is
# computed.
both(lambda x: x**3, 2.0)
# Hint: x has requires_grad=True: the slope comes first, then the bend.
both(lambda x: x**3, 2.0, True)
# Hint: A plain tensor again, with another function.
both(lambda x: x.tanh() * x, 0.5)
# Hint: A leaf again, with another function.
both(lambda x: (x * x).exp(), -0.5, True)

# %% [markdown] hints="two_tapes"
# 1. Why is even the slope None? What does a tape watch without being asked, and what does it not?
# 2. The slope is there, and the bend is None: the outer tape has to record how the slope is computed. Where must the
# inner tape be asked?
# 3. `outer.watch(x)` and `inner.watch(x)`, each first thing in its block; and `slope = inner.gradient(y, x)` one step
# further to the right, inside the outer block.

# %% [markdown] shows="two_tapes"
# A second derivative is the derivative of a gradient: to get it, something has to record while that gradient is
# computed.


# %% wrong="two_tapes"
# Shows: Nobody watches x, so that a plain tensor gets None; and the slope is computed where the outer tape does not
# record it.
# Hint: Begin with the first mistake: a tape watches a plain tensor only if you call `watch`.
def slope_and_bend(f, x):
    with mg.GradientTape() as outer, mg.GradientTape() as inner:
        y = f(x)
    slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)
    return slope, bend


# %% wrong="two_tapes"
# Shows: The slope is right, but the bend is None: the inner tape is asked after the outer one has stopped recording.
# Hint: The backward pass is a computation too, and the outer tape must record it: ask the inner tape inside the outer
# block.
def slope_and_bend(f, x):
    with mg.GradientTape() as outer:
        outer.watch(x)
        with mg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
    slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)
    return slope, bend


# %% wrong="two_tapes"
# Shows: The inner tape is asked in the right place, but it has recorded nothing of a plain tensor: nobody watches it.
# Hint: Without asking, a tape watches only leaves with requires_grad=True. Call watch(x) in both blocks.
def slope_and_bend(f, x):
    with mg.GradientTape() as outer:
        with mg.GradientTape() as inner:
            y = f(x)
        slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)
    return slope, bend


# %% wrong="two_tapes"
# Shows: The inner tape watches x, but the outer one does not: a plain tensor gets its slope, and no bend.
# Hint: Both tapes have to know that x matters: outer.watch(x), first thing in the outer block.
def slope_and_bend(f, x):
    with mg.GradientTape() as outer:
        with mg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)
    return slope, bend


# %% wrong="two_tapes"
# Shows: The outer tape was asked for the gradient of y, and that is the slope once more.
# Hint: The outer tape is asked for the gradient of the slope: `outer.gradient(slope, x)`.
def slope_and_bend(f, x):
    with mg.GradientTape() as outer:
        outer.watch(x)
        with mg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    bend = outer.gradient(y, x)
    return slope, bend


# %% wrong="two_tapes"
# Shows: Both are there, but in the wrong order.
# Hint: First the slope, then the bend.
def slope_and_bend(f, x):
    return grad(grad(f))(x), grad(f)(x)


# %% [markdown]
# ## 3. Curvature on a budget
#
# **2 points, 9 minutes.** Write `curvature(f, x, v)`. `f` takes a tensor of n numbers and returns one number; x and v
# have n numbers. Return vᵀ H v, where H is the Hessian of f at x. This number says how f bends at x in the direction v.
#
# Your budget: f runs at most twice, no array has more than 10 · n numbers, and the result is exact up to rounding.
#
# Example: for f(x) = Σ x² the Hessian has 2 on its diagonal, so vᵀ H v is 2 Σ v².


# %% answer="along" points=2 minutes=9
def curvature(f, x, v):
    ### BEGIN SOLUTION
    Hv = jvp(grad(f), (x,), (v,))[1]
    return (v * Hv).sum()
    ### END SOLUTION


# %%
check("along")

# %% probes="along"
import minigrad
import numpy as np
from minigrad.core.modes import watching


class Largest:
    numbers = 0

    def on_forward(self, op, y, xs):
        self.numbers = max(self.numbers, y.spec.size)

    def on_backward(self, node, gy, gxs):
        self.numbers = max([self.numbers, *(np.size(gx.value if hasattr(gx, "value") else gx) for gx in gxs)])


def hill(x):
    return (x**3).sum() + (x[1:] * x[:-1]).sum() ** 2


def places(n):
    return minigrad.tensor(np.linspace(-1.0, 1.0, n)), minigrad.tensor(np.cos(np.arange(n)))


def number(f, n):
    return round(float(curvature(f, *places(n))), 8)


def exact_to_rounding(n):
    return float(curvature(lambda x: (40 * x).sin().sum(), *places(n)))


@referee
def exact_to_rounding(found, n):
    x, v = (place.numpy() for place in places(n))
    exact = -1600 * float((np.sin(40 * x) * v**2).sum())
    return abs(found / exact - 1) < 1e-11


def runs(n):
    seen = []
    curvature(lambda x: seen.append(0) or hill(x), *places(n))
    return len(seen)


def largest(n):
    with watching(Largest()) as largest:
        curvature(hill, *places(n))
    return largest.numbers


# Hint: For f = Σ x² the Hessian is 2 on the diagonal, so vᵀ H v is 2 Σ v².
number(lambda x: (x * x).sum(), 3)
# Hint: vᵀ H v is one number: H v says how the gradient changes along v, and then it is multiplied by v and added up.
number(hill, 4)
# Hint: For another function.
number(lambda x: x.tanh().sum() * x[0], 5)
# Hint: The number should be exact up to rounding: a nudge is not.
exact_to_rounding(6)
# Hint: f ran more than twice.
runs(30) <= 2
# Hint: An array with more than 10 · n numbers was made: the whole Hessian has n².
largest(30) <= 300

# %% [markdown] hints="along"
# 1. H v is how the gradient changes when x moves along v. Which transform says how the result of a function changes
# along a direction?
# 2. `jvp(grad(f), (x,), (v,))` gives the gradient and, second, H v.
# 3. Then multiply by v and add up: `(v * Hv).sum()`.

# %% [markdown] shows="along"
# The Hessian times a vector takes a few passes and never the Hessian itself, which makes curvature affordable for
# millions of parameters.


# %% wrong="along"
# Shows: The number is right, and f ran once; but the whole Hessian was made for it, n² numbers.
# Hint: Only H v is needed, and it has n numbers: jvp of grad(f) along v.
def curvature(f, x, v):
    return v @ hessian(f)(x) @ v


# %% wrong="along"
# Shows: The gradient was nudged. That comes close, but it is no more exact than nudging is.
# Hint: jvp moves the gradient along v without a step size.
def curvature(f, x, v):
    h = 1e-5
    return ((grad(f)(x + h * v) - grad(f)(x - h * v)) * v).sum() / (2 * h)


# %% wrong="along"
# Shows: The gradient was nudged, on one side. That comes close, but it is no more exact than nudging is.
# Hint: With jvp there is no step size to choose: it moves the gradient along v exactly.
def curvature(f, x, v):
    h = 1e-6
    return ((grad(f)(x + h * v) - grad(f)(x)) * v).sum() / h


# %% wrong="along"
# Shows: This is the slope of f along v, the first derivative.
# Hint: Take the jvp of grad(f), not of f: how does the gradient change along v? In the pair that jvp gives, the second
# is the change; the first is the gradient itself.
def curvature(f, x, v):
    return jvp(f, (x,), (v,))[1]


# %% wrong="along"
# Shows: The slope along v was squared. That says how steep f is, not how it bends.
# Hint: A second derivative is the slope of a slope: differentiate the gradient.
def curvature(f, x, v):
    return jvp(f, (x,), (v,))[1] ** 2


# %% wrong="along"
# Shows: This is H v, with n numbers. vᵀ H v is one number.
# Hint: Weigh each number of H v with that of v, and add up: `(v * Hv).sum()`.
def curvature(f, x, v):
    return jvp(grad(f), (x,), (v,))[1]


# %% wrong="along"
# Shows: H v was found, and added up; the second v is missing.
# Hint: vᵀ H v weighs each number of H v with that of v before the sum.
def curvature(f, x, v):
    return jvp(grad(f), (x,), (v,))[1].sum()


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. A ladder
#
# **2 points, 7 minutes.** Write `ladder(f, x, n)`. It returns the list `[f(x), f′(x), f″(x), …]` up to the n-th
# derivative, as plain numbers. `f` takes a tensor of one number and returns one. `x` is a float, and n is 0 or more.
#
# Example: for f(x) = x³, `ladder(f, 2.0, 2)` is `[8.0, 12.0, 12.0]`.


# %% answer="ladder" points=2 minutes=7
def ladder(f, x, n):
    ### BEGIN SOLUTION
    rungs = []
    for _ in range(n + 1):
        rungs.append(f(mg.tensor(x)).item())
        f = grad(f)
    return rungs
    ### END SOLUTION


# %%
check("ladder")

# %% probes="ladder"
import minigrad


def cube(x):
    return x**3


def sine(x):
    return x.sin()


def bent(x):
    return x.tanh() * x + x.exp()


# Hint: n = 0: the ladder is [f(x)], a plain number in a list.
[round(y, 6) for y in ladder(cube, 2.0, 0)]
# Hint: n = 1: f(x), then the first derivative.
[round(y, 6) for y in ladder(cube, 2.0, 1)]
# Hint: n = 3: each rung is the derivative of the one below it, so `grad` is applied once more at each rung.
[round(y, 6) for y in ladder(cube, 2.0, 3)]
# Hint: The derivatives of sin: sin, cos, −sin, −cos.
[round(y, 6) for y in ladder(sine, 0.5, 3)]
# Hint: n = 3 at a negative x, for a function of several operations.
[round(y, 6) for y in ladder(bent, -0.7, 3)]
# Hint: e^x is its own derivative: five equal rungs.
[round(y, 6) for y in ladder(lambda x: x.exp(), 1.0, 4)]
# Hint: n = 6: seven rungs.
[round(y, 6) for y in ladder(sine, -1.0, 6)]

# %% [markdown] hints="ladder"
# 1. `grad(f)` is a function like f: it takes a tensor of one number, and gives one.
# 2. The n-th derivative is grad applied n times. Go from rung to rung, and let f become grad(f).
# 3. In a loop that runs n + 1 times: append `f(mg.tensor(x)).item()`, then write `f = grad(f)`.

# %% [markdown] shows="ladder"
# A derivative is a function like any other, and so it can be differentiated again, as often as you like.


# %% wrong="ladder"
# Shows: Every rung above the lowest is the first derivative: grad was applied to the same f each time.
# Hint: The second derivative is the slope of the slope: grad(grad(f)).
def ladder(f, x, n):
    x = mg.tensor(x)
    return [f(x).item()] + [grad(f)(x).item() for _ in range(n)]


# %% wrong="ladder"
# Shows: Powers of the slope were taken for higher derivatives.
# Hint: f″ is the slope of the function f′, and not f′ times f′.
def ladder(f, x, n):
    x = mg.tensor(x)
    return [f(x).item()] + [grad(f)(x).item() ** k for k in range(1, n + 1)]


# %% wrong="ladder"
# Shows: The ladder stops one rung too early.
# Hint: From f itself to the n-th derivative there are n + 1 rungs.
def ladder(f, x, n):
    rungs = []
    for _ in range(n):
        rungs.append(f(mg.tensor(x)).item())
        f = grad(f)
    return rungs


# %% wrong="ladder"
# Shows: f itself, the lowest rung, is missing.
# Hint: Append first, and then let f become grad(f).
def ladder(f, x, n):
    rungs = []
    for _ in range(n):
        f = grad(f)
        rungs.append(f(mg.tensor(x)).item())
    return rungs


# %% wrong="ladder"
# Shows: The slope of the slope was asked for, but the slope has no past. mg.grad forgets how it computed its answer.
# Hint: Say create_graph=True where the answer is to be differentiated again, or use the transform `grad`.
def ladder(f, x, n):
    x = mg.tensor(x, requires_grad=True)
    rungs = [f(x)]
    for _ in range(n):
        rungs += mg.grad(rungs[-1], x)
    return [y.item() for y in rungs]


# %% wrong="ladder"
# Shows: The rungs are tensors, but they should be plain numbers.
# Hint: `.item()` turns a tensor of one number into a plain number.
def ladder(f, x, n):
    rungs = []
    for _ in range(n + 1):
        rungs.append(f(mg.tensor(x)))
        f = grad(f)
    return rungs, n


# %% [markdown]
# ### 5. A landscape of your own
#
# **2 points, 9 minutes.** Write `land(p)`: the height of a landscape at the place p, a tensor of two numbers. At (1, 2)
# it must have a *saddle*, like a mountain pass:
#
# - the gradient at (1, 2) is zero;
# - it bends upwards in one direction there, and downwards in another: the determinant of the Hessian, a · d − b · c for
#   [[a, b], [c, d]], is below zero;
# - it is not a quadratic: its Hessian at (0, 0) differs from the one at (1, 2).
#
# The judge uses `grad`, `hessian` and the referee.


# %% answer="landscape" points=2 minutes=9
def land(p):
    ### BEGIN SOLUTION
    u, v = p[0] - 1, p[1] - 2
    return u**2 - v**2 + u**3
    ### END SOLUTION


# %%
check("landscape")

# %% probes="landscape"
import minigrad
import numpy as np
from minigrad.saving import evidence

func = minigrad.func


def at(x, y):
    return minigrad.tensor([x, y])


def it_is_one_number():
    return land(at(0.5, 0.5)).size


@referee
def it_is_one_number(size):
    return size == 1


def steepness_at_the_pass():
    return float(np.abs(func.grad(land)(at(1.0, 2.0)).numpy()).max())


def bends(x, y):
    return func.hessian(land)(at(x, y)).numpy()


def it_bends_both_ways():
    return bends(1.0, 2.0)


@referee
def it_bends_both_ways(hessian):
    return np.linalg.det(hessian) < -1e-6


def it_is_a_quadratic():
    return bends(0.0, 0.0), bends(1.0, 2.0)


@referee
def it_is_a_quadratic(two):
    return np.allclose(*two)


def nudging_agrees():
    return [evidence.sent_slopes(land, place) for place in [(0.3, -0.4), (1.5, 2.5), (1.0, 2.0)]]


@referee
def nudging_agrees(places):
    return all(map(evidence.slopes_agree, places))


# Hint: `land` should give one number.
it_is_one_number()
# Hint: At (1, 2) the gradient should be zero.
steepness_at_the_pass() < 1e-6
# Hint: At (1, 2) it should bend upwards in one direction and downwards in another: the determinant of the Hessian is
# below zero.
it_bends_both_ways()
# Hint: The Hessian is the same at (0, 0) and at (1, 2): add something that bends elsewhere, such as u³.
it_is_a_quadratic()
# Hint: Backward and a nudge give different slopes: did a part leave the graph, through `item()` or `detach`?
nudging_agrees()

# %% [markdown] hints="landscape"
# 1. Begin with a pass at the origin: u² − v² goes up along u and down along v, and is flat in the middle.
# 2. Move it: u = p[0] − 1 and v = p[1] − 2 are zero at the place (1, 2).
# 3. Then add something that has neither slope nor bend at the pass, and a bend elsewhere: u³, or v⁴.

# %% [markdown] shows="landscape"
# A gradient of zero does not tell a valley from a pass; how the surface bends around the place does.


# %% wrong="landscape"
# Shows: There is a pass at the right place, but the landscape is a quadratic: its Hessian is the same everywhere.
# Hint: Add a term of third or higher order in p[0] − 1 or p[1] − 2: at the pass it changes nothing.
def land(p):
    return (p[0] - 1) ** 2 - (p[1] - 2) ** 2


# %% wrong="landscape"
# Shows: At (1, 2) it is flat, and bends the same way in all directions: a bottom or a summit, or no bend at all.
# Hint: Give the squares opposite signs.
def land(p):
    return (p[0] - 1) ** 2 + (p[1] - 2) ** 2 + (p[0] - 1) ** 3


# %% wrong="landscape"
# Shows: At (1, 2) it is not flat: the gradient there is not zero.
# Hint: Write it in u = p[0] − 1 and v = p[1] − 2, and use no term with u or v alone.
def land(p):
    return p[0] ** 2 - p[1] ** 2 + p[0] ** 3


# %% wrong="landscape"
# Shows: A constant got in the way: part of the landscape left the graph through item(), and nudging sees it move.
# Hint: Compute with p[0] and p[1] themselves; they are tensors.
def land(p):
    u, v = p[0] - 1, p[1] - 2
    return u**2 - v**2 + u**3 + p[0].item()


# %% wrong="landscape"
# Shows: The landscape has a height for each of the two numbers. It must have one height at each place.
# Hint: Combine p[0] and p[1] into one number.
def land(p):
    return p**2


# %% [markdown]
# ## What you have now
#
# Three ways to ask, and the habit of counting what an answer costs: runs, passes, bytes. The saddle of the last
# optional part is not a toy: in many dimensions most flat places are saddles, and `hvp` is how you find the way down
# from them.
#
# **Next**: [08 A graph for each input](../lessons/08_a_graph_for_each_input.ipynb).
