# ---
# jupyter:
#   minigrad:
#     title: Shapes and gradients
#     minutes: 25
#     lesson: 04_tensors
#     concepts: [A5, B2]
# ---

# %% [markdown]
# # 04 Shapes and gradients
#
# Predict shapes and gradients, write the way back through a layer, and repair a loss that trains wrongly. About 25
# minutes, in three parts; two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
from minigrad.course import check, solution
from minigrad.core.node import toposort

# %% [markdown]
# ## 1. With a pencil
#
# **2 points, 7 minutes.** Write down what these lines give, before you run anything. The comment behind a line is the
# name for your answer.
#
# ```python
# X = mg.ones(5, 2)
# b = mg.tensor([10.0, 20.0], requires_grad=True)             # of shape (2,)
# c = mg.tensor([[1.0], [2.0], [3.0]], requires_grad=True)    # of shape (3, 1)
#
# (X + b).shape                # first
# (b + c).shape                # second
# (X * b).sum(axis=0).shape    # third
# (b * c).sum().backward()
# b.grad.tolist()              # b_grad
# c.grad.tolist()              # c_grad
# ```
#
# A shape is a tuple, such as `(2, 3)` or `(4,)`. A gradient is a list, such as `[1.0, 2.0]`, or a list of rows.

# %% answer="shapes_by_hand" points=2 minutes=7
### BEGIN SOLUTION
first = (5, 2)
second = (3, 2)
third = (2,)
b_grad = [6, 6]
c_grad = [[30], [30], [30]]
### END SOLUTION

# %%
check("shapes_by_hand")

# %% probes="shapes_by_hand"
# Hint: `first`: line the shapes up on the right. Where one of them has 1, or nothing, the other decides.
first
# Hint: `second`: line the shapes up on the right. Where one of them has 1, or nothing, the other decides.
second
# Hint: `third`: the sum removes axis 0 of the product's shape.
third
# Hint: `b_grad` has the shape of b. Each number of b is in three products: add up what it was multiplied by.
b_grad
# Hint: `c_grad` has the shape of c, three rows of one number. Each number of c is in two products.
c_grad

# %% [markdown] hints="shapes_by_hand"
# 1. Line shapes up on the right. (2,) under (3, 1): the 2 stands under the 1, and nothing stands under the 3.
# 2. b * c has six products. b[0] is in three of them, with 1, 2 and 3; c[0] is in two, with 10 and 20.
# 3. A gradient has the shape of its leaf: b_grad is a list of two numbers, c_grad a list of three lists of one.

# %% [markdown] shows="shapes_by_hand"
# Broadcasting copies on the way forward, so the gradients of the copies are added on the way back, and each gradient
# has the shape of its leaf.

# %% wrong="shapes_by_hand"
# Shows: The gradients have the shape of the product, not that of the leaf: what came back was not added up.
# Hint: There is one b[0], in three products, and c[0] is in two. What they bring is added: b_grad has two numbers.
first, second, third = (5, 2), (3, 2), (2,)
b_grad, c_grad = [[1, 1], [2, 2], [3, 3]], [[10, 20], [10, 20], [10, 20]]

# %% wrong="shapes_by_hand"
# Shows: The gradient of b was taken from b, and that of c from c.
# Hint: In a product the slope towards one factor is the other: b[0] gets the sum of the numbers in c.
first, second, third = (5, 2), (3, 2), (2,)
b_grad, c_grad = [30, 60], [[2], [4], [6]]

# %% wrong="shapes_by_hand"
# Shows: The numbers of c_grad are right, but its shape is not c's: c has one column.
# Hint: c is [[1], [2], [3]], and its gradient is written in the same way.
first, second, third = (5, 2), (3, 2), (2,)
b_grad, c_grad = [6, 6], [30, 30, 30]

# %% wrong="shapes_by_hand"
# Shows: The slopes were taken for 1, as in a sum: you counted in how many places each number is used.
# Hint: b and c are multiplied here. What comes back to b[0] from one product is the number of c in that product.
first, second, third = (5, 2), (3, 2), (2,)
b_grad, c_grad = [3, 3], [[2], [2], [2]]

# %% wrong="shapes_by_hand"
# Shows: b_grad and c_grad are right, and `third` has lost the wrong axis.
# Hint: axis=0 is the one that goes: of (5, 2) the 2 is left.
first, second, third = (5, 2), (3, 2), (5,)
b_grad, c_grad = [6, 6], [[30], [30], [30]]

# %% wrong="shapes_by_hand"
# Shows: `third` is a number, but it should be a shape.
# Hint: A shape with one axis is a tuple of one number, and is written with a comma: (2,). To Python (2) is the number
# 2.
first, second, third = (5, 2), (3, 2), 2
b_grad, c_grad = [6, 6], [[30], [30], [30]]

# %% wrong="shapes_by_hand"
# Shows: The numbers of b_grad are right, but they have one pair of brackets too many.
# Hint: b is [10, 20], with one axis. Its gradient is written in the same way.
first, second, third = (5, 2), (3, 2), (2,)
b_grad, c_grad = [[6, 6]], [[30], [30], [30]]

# %% wrong="shapes_by_hand"
# Shows: `third` keeps the axis that was added up, with length 1.
# Hint: A sum without keepdims=True loses its axis: (2,).
first, second, third = (5, 2), (3, 2), (1, 2)
b_grad, c_grad = [6, 6], [[30], [30], [30]]

# %% [markdown]
# ## 2. The way back through a layer
#
# **2 points, 9 minutes.** A layer computes y = x W + b. The shapes are (n, k) for x, (k, m) for W and (m,) for b. The
# gradient `gy` arrives at y.
#
# Write `layer_back(x, W, gy)`. You get NumPy arrays, and return three: gx, gW and gb, the gradients of x, W and b. Each
# has the shape of what it belongs to.
#
# Somebody's first try was `return gy @ W, gy @ x, gy`. None of the three is None, and all three are wrong.


# %% answer="layer_back" points=2 minutes=9
def layer_back(x, W, gy):
    ### BEGIN SOLUTION
    return gy @ W.T, x.T @ gy, gy.sum(axis=0)
    ### END SOLUTION


# %%
check("layer_back")

# %% probes="layer_back"
import numpy


def back(name, n, k, m):
    """One of the three, for x of shape (n, k) and W of shape (k, m), in small whole numbers that can be read."""
    numbers = numpy.random.default_rng(n * 100 + k * 10 + m)
    x, W, gy = (numbers.integers(-3, 5, size=shape).astype(float) for shape in ((n, k), (k, m), (n, m)))
    return numpy.asarray(layer_back(x, W, gy)[("gx", "gW", "gb").index(name)]).tolist()


def three_arrays():
    return numpy.eye(3), numpy.arange(9.0).reshape(3, 3), numpy.ones((3, 3))


def untouched():
    given = three_arrays()
    layer_back(*given)
    return given


@referee
def untouched(given):
    return given == [array.tolist() for array in three_arrays()]


def how_many():
    return len(layer_back(numpy.eye(3), numpy.arange(9.0).reshape(3, 3), numpy.ones((3, 3))))


# Hint: gx has the shape of x, (n, k): gy is (n, m), so W must be transposed.
back("gx", 4, 3, 2)
# Hint: gW has the shape of W, (k, m): each row of x meets W, so the n rows are added up inside the product.
back("gW", 4, 3, 2)
# Hint: gb has the shape of b, (m,): b is added to every row, so add gy up over the rows.
back("gb", 4, 3, 2)
# Hint: gx on square matrices, where a wrong product still fits: which of the two is transposed, and
# which stands first?
back("gx", 2, 2, 2)
# Hint: gW on square matrices, where a wrong product still fits: which of the two is transposed, and
# which stands first?
back("gW", 2, 2, 2)
# Hint: gb on a square gy: add up down each column, not along each row.
back("gb", 2, 2, 2)
# Hint: gx with a single row.
back("gx", 1, 5, 3)
# Hint: gW with a single row.
back("gW", 1, 5, 3)
# Hint: gb with a single row: it still has the shape (m,).
back("gb", 1, 5, 3)
# Hint: gx with k = m = 1.
back("gx", 3, 1, 1)
# Hint: gW with k = m = 1.
back("gW", 3, 1, 1)
# Hint: gb with m = 1: one number, in a list.
back("gb", 3, 1, 1)
# Hint: Three arrays are wanted: gx, gW and gb.
how_many()
# Hint: `layer_back` should leave x, W and gy as they were.
untouched()

# %% [markdown] hints="layer_back"
# 1. gx has the shape of x, (n, k), and is a product of gy, (n, m), and W, (k, m). One of them must be transposed.
# 2. Each row of x meets all of W, so gW adds up over the n rows: put n in the middle of a product.
# 3. gx = gy Wᵀ, gW = xᵀ gy; and b is used in n rows, so gb is gy, added up along axis 0.

# %% [markdown] shows="layer_back"
# The way back through a layer is two matrix products where the way forward was one: backward takes about twice the
# arithmetic.


# %% wrong="layer_back" misconception="M13"
# Shows: None of the three is None, but all three are wrong: a gradient that is there need not be right.
# Hint: Test with sizes that differ, as 4, 3 and 2. With square matrices any product fits, right or wrong.
def layer_back(x, W, gy):
    return gy @ W, gy @ x, gy


# %% wrong="layer_back"
# Shows: gx and gW are right; gb is what arrived at all rows, and there is one b for all of them.
# Hint: b was stretched along the rows. Its gradients add up over them: gy.sum(axis=0).
def layer_back(x, W, gy):
    return gy @ W.T, x.T @ gy, gy


# %% wrong="layer_back"
# Shows: gb is the mean over the rows.
# Hint: Gradients that meet are added. A division by n belongs to the loss, if it is a mean, and has arrived in gy.
def layer_back(x, W, gy):
    return gy @ W.T, x.T @ gy, gy.mean(axis=0)


# %% wrong="layer_back"
# Shows: gb is one number: everything that arrived was added up.
# Hint: b has m numbers, and each gets what arrived in its own column: add up along axis 0 alone.
def layer_back(x, W, gy):
    return gy @ W.T, x.T @ gy, gy.sum()


# %% wrong="layer_back"
# Shows: The right three arrays in another order: the gradient of W comes first.
# Hint: The order wanted is gx, gW, gb.
def layer_back(x, W, gy):
    return x.T @ gy, gy @ W.T, gy.sum(axis=0)


# %% wrong="layer_back"
# Shows: gx is right. In gW the two factors are in the wrong order, and they do not fit.
# Hint: gW has the shape of W, (k, m), and adds up over the n rows: n must stand in the middle, (k, n) times (n, m).
def layer_back(x, W, gy):
    return gy @ W.T, gy @ x.T, gy.sum(axis=0)


# %% wrong="layer_back"
# Shows: gb has an axis of length 1 that b does not have.
# Hint: b has the shape (m,): add up without keepdims.
def layer_back(x, W, gy):
    return gy @ W.T, x.T @ gy, gy.sum(axis=0, keepdims=True)


# %% wrong="layer_back"
# Shows: gW is transposed: its shape is (m, k).
# Hint: (gyᵀ x) has the right numbers. W is (k, m): write xᵀ gy.
def layer_back(x, W, gy):
    return gy @ W.T, gy.T @ x, gy.sum(axis=0)


# %% wrong="layer_back"
# Shows: The three are right, but what arrived was overwritten: its first row is gb now.
# Hint: gy[0] is a view of gy, and += writes into it. gy.sum(axis=0) is an array of its own.
def layer_back(x, W, gy):
    gx, gW = gy @ W.T, x.T @ gy
    gb = gy[0]
    for row in gy[1:]:
        gb += row
    return gx, gW, gb


# %% wrong="layer_back"
# Shows: gb adds up along each row. But the bias is added to each row, so gb must add up down each column.
# Hint: b has m numbers, one for each column of y: add up along axis 0.
def layer_back(x, W, gy):
    return gy @ W.T, x.T @ gy, gy.sum(axis=1)


# %% [markdown]
# ## 3. A loss that trains wrongly
#
# **2 points, 8 minutes.** Somebody uses this loss:
#
# ```python
# def squared_error(p, t):
#     return ((p - t) ** 2).mean()
# ```
#
# The predictions p have the shape (n, 1) or (n,), and so have the targets t. In two of these four cases training goes
# wrong without an error. Write `squared_error(p, t)` anew:
#
# - in all four cases it returns the mean of the squared differences of the n pairs;
# - if p and t have different numbers of elements, it raises `ValueError`. (`p.numel()` is the number of elements.)
#
# Example: for p of shape (5, 1) and t of shape (4,) it raises.


# %% answer="squared_error" points=2 minutes=8
def squared_error(p, t):
    ### BEGIN SOLUTION
    if p.numel() != t.numel():
        raise ValueError(f"one target for each prediction, and got shapes {p.shape} and {t.shape}")
    return ((p.reshape(-1) - t.reshape(-1)) ** 2).mean()
    ### END SOLUTION


# %%
check("squared_error")

# %% probes="squared_error"
import minigrad
import numpy


def loss_and_gradient(p_shape, t_shape):
    numbers = numpy.random.default_rng(7)
    p = minigrad.tensor(numbers.normal(size=p_shape), requires_grad=True)
    t = minigrad.tensor(numbers.normal(size=t_shape))
    loss = squared_error(p, t)
    loss.backward()
    return [list(loss.shape), loss.item(), p.grad.tolist()]


def refused(p_shape, t_shape):
    """The shape of the loss; or the family of the error."""
    try:
        return [loss_and_gradient(p_shape, t_shape)[0], []]
    except ValueError as error:
        return [None, [kind.__name__ for kind in type(error).__mro__]]


@referee
def refused(sent):
    """Whether a ValueError was raised, under whatever name of its family."""
    shape, family = sent
    return "refused" if "ValueError" in family else f"no error: {shape}"


# Hint: Both (4, 1): the loss has the shape (), and its gradient has the shape of p. Is it a mean, and does it go back
# to p?
loss_and_gradient((4, 1), (4, 1))
# Hint: Both (4,): the loss has the shape (), and its gradient has the shape of p.
loss_and_gradient((4,), (4,))
# Hint: p is (4, 1) and t is (4,): their difference is (4, 4) unless both get one shape first.
loss_and_gradient((4, 1), (4,))
# Hint: p is (4,) and t is (4, 1): their difference is (4, 4) unless both get one shape first.
loss_and_gradient((4,), (4, 1))
# Hint: A single pair, in two shapes.
loss_and_gradient((1, 1), (1,))
loss_and_gradient((7,), (7, 1))
# Hint: Five predictions and four targets: raise a ValueError.
refused((5, 1), (4,))
# Hint: Four predictions and one target: broadcasting would stretch the target, so compare the counts yourself and raise
# a ValueError.
refused((4, 1), (1,))
# Hint: One prediction and four targets: raise a ValueError.
refused((1, 1), (4,))

# %% [markdown] hints="squared_error"
# 1. Print `(p - t).shape` in each of the four cases. Two of them are (n, n).
# 2. Give both the same shape before you subtract: `x.reshape(-1)` has one axis, whatever x had.
# 3. (4,) with (1,) fits by broadcasting, so look yourself: `p.numel()` is how many numbers there are.

# %% [markdown] shows="squared_error"
# Broadcasting can hide a mistake: (n, 1) minus (n,) is n × n differences, no error says so, and the training is
# wrong.


# %% wrong="squared_error"
# Shows: Nothing has changed: with (4, 1) and (4,), sixteen differences are averaged.
# Hint: Print (p - t).shape. Each prediction meets every target, and the best it can do is to predict their mean.
def squared_error(p, t):
    return ((p - t) ** 2).mean()


# %% wrong="squared_error"
# Shows: Targets of shape (n,) are handled. Predictions of shape (n,) with targets of shape (n, 1) still give (n, n).
# Hint: Reshape both, not only t.
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError("one target for each prediction")
    return ((p - t.reshape(-1, 1)) ** 2).mean()


# %% wrong="squared_error"
# Shows: All four cases are right, but a single target is still stretched over four predictions without an error.
# Hint: (4,) with (1,) fits, so no ShapeError comes. Compare the numbers of elements before you subtract.
def squared_error(p, t):
    return ((p.reshape(-1) - t.reshape(-1)) ** 2).mean()


# %% wrong="squared_error"
# Shows: An error is raised where the shapes differ, but (4, 1) with (4,) should give the mean over 4 pairs.
# Hint: Raise only if the *numbers of elements* differ. If only the shapes differ, reshape.
def squared_error(p, t):
    return mg.nn.functional.mse_loss(p, t)


# %% wrong="squared_error"
# Shows: All different shapes are refused, but (4, 1) with (4,) should give the mean over 4 pairs.
# Hint: Ask `p.numel() != t.numel()` before you raise. Where these agree, reshape both.
def squared_error(p, t):
    if p.shape != t.shape:
        raise ValueError("one target for each prediction")
    return ((p - t) ** 2).mean()


# %% wrong="squared_error"
# Shows: Only targets are reshaped, so predictions of shape (n,) still give (n, n); and nothing is refused.
# Hint: Reshape both, and compare the numbers of elements first.
def squared_error(p, t):
    return ((p - t.reshape(-1, 1)) ** 2).mean()


# %% wrong="squared_error"
# Shows: The targets were transposed, but an array with one axis stays what it was: there is no second axis to swap.
# Hint: (4,) becomes (4, 1) by reshape, not by .T. Give both p and t the same shape, whatever they had.
def squared_error(p, t):
    if p.shape != t.shape:
        t = t.T
    return ((p - t) ** 2).mean()


# %% wrong="squared_error"
# Shows: The right cases are refused, with an AssertionError in place of a ValueError.
# Hint: `if p.numel() != t.numel(): raise ValueError(...)`.
def squared_error(p, t):
    assert p.numel() == t.numel()
    return ((p.reshape(-1) - t.reshape(-1)) ** 2).mean()


# %% wrong="squared_error"
# Shows: The loss is right, but it was computed from plain numbers: it has no graph to go back over.
# Hint: `.numpy()` gives numbers that remember nothing. Subtract the tensors p and t themselves.
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError("one target for each prediction")
    e = p.detach().numpy().reshape(-1) - t.numpy().reshape(-1)
    return mg.tensor((e**2).mean())


# %% wrong="squared_error"
# Shows: The mean became a sum: the loss and its gradient are n times as large.
# Hint: Take .mean() at the end, over n numbers.
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError("one target for each prediction")
    return ((p.reshape(-1) - t.reshape(-1)) ** 2).sum()


# %% wrong="squared_error"
# Shows: The loss is right, but it was computed from plain numbers: no gradient reaches p.
# Hint: Stay with tensors. What goes through .numpy() or .item() leaves the graph.
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError("one target for each prediction")
    e = p.detach().numpy().reshape(-1) - t.numpy().reshape(-1)
    return mg.tensor((e**2).mean(), requires_grad=True)


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. Distances on a budget
#
# **2 points, 8 minutes.** Write `distances(a, b)`. You get n points as a tensor a of shape (n, d), and m points as b of
# shape (m, d). Return all squared distances, as a tensor of shape (n, m). By broadcasting it is one line:
#
# ```python
# ((a.reshape(n, 1, d) - b.reshape(1, m, d)) ** 2).sum(axis=2)
# ```
#
# But that line makes arrays of n × m × d numbers. Your budget is smaller:
#
# - **no array has more than n × m numbers** (arrays as large as a or b are allowed);
# - **at most 16 nodes** are in the graph, so there is no loop.
#
# What helps: |a − b|² = |a|² − 2 a·b + |b|². Here |a|² is the sum of the squares of a point's numbers. And a·b, for all
# pairs of points at once, is a matrix product.


# %% answer="distances" points=2 minutes=8
def distances(a, b):
    ### BEGIN SOLUTION
    return (a * a).sum(axis=1, keepdims=True) - 2 * (a @ b.T) + (b * b).sum(axis=1)
    ### END SOLUTION


# %%
check("distances")

# %% probes="distances"
import minigrad
import numpy
from minigrad.saving import evidence


def points(n, m, d):
    numbers = numpy.random.default_rng(n + m + d)
    whole = [numbers.integers(-3, 5, size=shape).astype(float) for shape in ((n, d), (m, d))]
    return [minigrad.tensor(w, requires_grad=True) for w in whole]


def found(n, m, d):
    a, b = points(n, m, d)
    y = distances(a, b)
    (y * minigrad.tensor(numpy.arange(1.0, n * m + 1).reshape(n, m))).sum().backward()
    return [y.tolist(), a.grad.tolist(), b.grad.tolist()]


def budget(n, m, d):
    return evidence.sent_nodes(distances(*points(n, m, d)))


@referee
def budget(nodes, n, m, d):
    sizes = [size for _, inputs, size in nodes if inputs]
    return {
        "numbers in an array": ["within", "over"][max(sizes) > max(n * m, m * d)],
        "nodes": ["within", "over"][len(nodes) > 16],
    }


# Hint: The shape should be (n, m): one distance for each pair of points.
list(distances(*points(3, 2, 4)).shape)
# Hint: The numbers are the distances, then the gradients of a and b. Line |a|² up with the rows of the result, |b|²
# with its columns, and mind the sign and the 2 of a·b.
found(3, 2, 4)
# Hint: With n = m, a sum that lies along the wrong axis still fits. |a|² belongs to the rows.
found(4, 4, 4)
# Hint: A single point in a: the result is (1, 3).
found(1, 3, 2)
# Hint: A single point in b, and points of one number: the result is (5, 1).
found(5, 1, 1)
# Hint: Some array on the way has more than n × m numbers, or the graph has more than 16 nodes.
budget(40, 50, 3)
# Hint: Some array on the way has more than n × m numbers, or the graph has more than 16 nodes.
budget(6, 5, 2)

# %% [markdown] hints="distances"
# 1. `(a * a).sum(axis=1)` has one number for each point of a. It belongs to each *row* of the result.
# 2. `keepdims=True` keeps the summed axis with length 1: (n, 1). With (m,) on the other side it is stretched to (n, m).
# 3. `(a * a).sum(axis=1, keepdims=True) - 2 * (a @ b.T) + (b * b).sum(axis=1)`.

# %% [markdown] shows="distances"
# Graphs of very different size can give the same numbers: algebra has replaced an array of n × m × d numbers by a
# matrix product.


# %% wrong="distances"
# Shows: The distances are right, but on the way there is an array of n × m × d numbers.
# Hint: Never make all differences. |a|² and |b|² are n and m numbers, and a @ b.T is (n, m) at once.
def distances(a, b):
    (n, d), m = a.shape, b.shape[0]
    return ((a.reshape(n, 1, d) - b.reshape(1, m, d)) ** 2).sum(axis=2)


# %% wrong="distances"
# Shows: Without keepdims, |a|² has the shape (n,) and is lined up with the columns, where the points of b are.
# Hint: |a|² belongs to the rows. Keep its axis, with keepdims=True, or reshape it to (n, 1).
def distances(a, b):
    return (a * a).sum(axis=1) - 2 * (a @ b.T) + (b * b).sum(axis=1)


# %% wrong="distances"
# Shows: |b|² has the shape (m, 1) here, and is lined up with the rows, where the points of a are.
# Hint: Only |a|² keeps its axis. |b|² is (m,), and is stretched along the rows by itself.
def distances(a, b):
    return (a * a).sum(axis=1, keepdims=True) - 2 * (a @ b.T) + (b * b).sum(axis=1, keepdims=True)


# %% wrong="distances"
# Shows: The sign before 2 a·b is a plus.
# Hint: a² + 2ab + b² is the square of a + b, but the distance is that of a − b.
def distances(a, b):
    return (a * a).sum(axis=1, keepdims=True) + 2 * (a @ b.T) + (b * b).sum(axis=1)


# %% wrong="distances"
# Shows: All of a was added up into one number, and all of b.
# Hint: Each point has an |a|² of its own: add up along axis 1, over the d numbers of a point.
def distances(a, b):
    return (a * a).sum() - 2 * (a @ b.T) + (b * b).sum()


# %% wrong="distances"
# Shows: The squares were added up over the points, along axis 0.
# Hint: Each point has an |a|² of its own, the sum over its d numbers. They lie along axis 1.
def distances(a, b):
    return (a * a).sum(axis=0).reshape(-1, 1) - 2 * (a @ b.T) + (b * b).sum(axis=0)


# %% wrong="distances"
# Shows: The product of a and b does not fit: (n, d) times (m, d).
# Hint: Rows of a meet columns of the second factor, and the points of b are rows: a @ b.T.
def distances(a, b):
    return (a * a).sum(axis=1, keepdims=True) - 2 * (a @ b) + (b * b).sum(axis=1)


# %% wrong="distances"
# Shows: The root was taken, but the task asks for the *squared* distance.
# Hint: Leave the root out: |a − b|² is the result.
def distances(a, b):
    return ((a * a).sum(axis=1, keepdims=True) - 2 * (a @ b.T) + (b * b).sum(axis=1)).sqrt()


# %% wrong="distances"
# Shows: The 2 before a·b is missing.
# Hint: (a − b)² = a² − 2ab + b², as for numbers.
def distances(a, b):
    return (a * a).sum(axis=1, keepdims=True) - a @ b.T + (b * b).sum(axis=1)


# %% wrong="distances"
# Shows: The distances are right, but the graph has too many nodes: a loop makes some each time round.
# Hint: One matrix product has all pairs in it: a @ b.T.
def distances(a, b):
    return mg.stack([((a[i] - b) ** 2).sum(axis=1) for i in range(a.shape[0])])


# %% wrong="distances"
# Shows: The distances are right, but they were computed outside the graph: nothing goes back to a and b.
# Hint: Stay with tensors from a and b to the result.
def distances(a, b):
    a, b = a.detach().numpy(), b.detach().numpy()
    d = (a * a).sum(1, keepdims=True) - 2 * a @ b.T + (b * b).sum(1)
    return mg.tensor(d, requires_grad=True)


# %% [markdown]
# ### 5. A loss of your own design
#
# **2 points, 8 minutes.** A classifier gives scores s of shape (n, k). Only the differences within a row matter: adding
# 7 to a whole row changes nothing. Write a loss `mine(s)` with these properties. There are many.
#
# - It returns one number, of shape `()`, for any n ≥ 1 and k ≥ 2.
# - It stays the same when each row of s moves by a number of its own, up or down.
# - It does *not* stay the same when one number of s moves alone.
# - Its graph has at most 12 nodes, s included.
#
# What must the gradient look like, if moving a whole row moves nothing? Print `s.grad.sum(axis=1)`.


# %% answer="own_loss" points=2 minutes=8
def mine(s):
    ### BEGIN SOLUTION
    return ((s - s.mean(axis=1, keepdims=True)) ** 2).sum()
    ### END SOLUTION


# %%
check("own_loss")

# %% probes="own_loss"
import minigrad
import numpy
from minigrad.saving import evidence


def of(array):
    return mine(minigrad.tensor(array)).item()


def scores(n, k):
    return numpy.random.default_rng(n * k).normal(size=(n, k))


def unmoved(n, k):
    s, rows = scores(n, k), numpy.linspace(-3, 5, n).reshape(n, 1)
    return of(s + rows), of(s)


@referee
def unmoved(losses):
    return numpy.isclose(*losses, rtol=1e-7, atol=1e-9)


def moved(n, k):
    """The loss, and what it is when one number is another, for each."""
    s, nudges = scores(n, k), 0.7 * numpy.eye(n * k).reshape(-1, n, k)
    return of(s), [of(s + nudge) for nudge in nudges]


@referee
def moved(losses, n, k):
    """Whether each number alone counts."""
    loss, others = losses
    return len(others) == n * k and not numpy.isclose(others, loss, rtol=1e-7, atol=1e-9).any()


def row_sums(n, k):
    s = minigrad.tensor(scores(n, k), requires_grad=True)
    mine(s).backward()
    return s.grad.numpy()


@referee
def row_sums(rows):
    g = numpy.array(rows)
    return {"each row adds up to 0": numpy.allclose(g.sum(axis=1), 0), "no row is 0": (abs(g) > 1e-9).any(axis=1).all()}


def nodes(n, k):
    return evidence.sent_nodes(mine(minigrad.tensor(scores(n, k), requires_grad=True)))


@referee
def nodes(listed):
    return ["within", "over"][len(listed) > 12]


# Hint: The loss should be one number, of shape ().
list(mine(minigrad.ones(3, 4)).shape)
# Hint: Move each row by a number of its own: the loss should stay the same. Subtract something from each row that moves
# with it, and keep its axis.
unmoved(3, 4)
# Hint: The same for a single row with two scores.
unmoved(1, 2)
# Hint: Move one score alone: the loss should change, for each of the scores.
moved(3, 4)
# Hint: Move one of two scores alone: the loss should change.
moved(1, 2)
# Hint: The gradient of each row should add up to 0, and should not be 0 itself.
row_sums(3, 4)
row_sums(2, 5)
# Hint: The graph has more than 12 nodes.
nodes(3, 4)
# Hint: The graph may not grow with the number of rows or columns: no loop.
nodes(20, 10)

# %% [markdown] hints="own_loss"
# 1. Subtract from each row something that moves with it: its mean, its maximum, one of its numbers.
# 2. What is left does not move with the row. Turn it into one number in which every score counts, by squares say.
# 3. `s.mean(axis=1, keepdims=True)` is (n, 1), and is stretched along the row again when you subtract it.

# %% [markdown] shows="own_loss"
# Where moving a whole row changes nothing, the gradient of each row adds up to zero, and that holds for cross-entropy
# as well.


# %% wrong="own_loss"
# Shows: The loss is one number, but it moves when a whole row does: the size of the scores counts, not only their
# differences.
# Hint: Subtract from each row something that moves with the row, such as its mean.
def mine(s):
    return (s**2).mean()


# %% wrong="own_loss"
# Shows: The mean of *all* scores was subtracted: that helps when all rows move together, not when one moves alone.
# Hint: One mean for each row: s.mean(axis=1, keepdims=True).
def mine(s):
    return ((s - s.mean()) ** 2).sum()


# %% wrong="own_loss"
# Shows: The loss does not depend on the scores: nothing moves it.
# Hint: There are sums that no score can move: in each row the differences to the mean add up to 0, and probabilities to
# 1. Square before you add.
def mine(s):
    return (s - s.mean(axis=1, keepdims=True)).sum()


# %% wrong="own_loss"
# Shows: The means of the columns were subtracted. It is the rows that may move.
# Hint: axis=1 runs along a row. Keep the axis, so that each mean is subtracted from its own row.
def mine(s):
    return ((s - s.mean(axis=0)) ** 2).sum()


# %% wrong="own_loss"
# Shows: The means have lost their axis: (n,) is lined up with the columns of (n, k), and does not fit.
# Hint: Keep the axis, so that each mean is subtracted from its own row: s.mean(axis=1, keepdims=True) is (n, 1).
def mine(s):
    return ((s - s.mean(axis=1)) ** 2).sum()


# %% wrong="own_loss"
# Shows: The loss has one number for each row.
# Hint: One number in all: .sum() or .mean() over what you have.
def mine(s):
    return ((s - s.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)


# %% wrong="own_loss"
# Shows: The properties hold, but the graph grows with the number of rows: a loop makes nodes for each.
# Hint: Broadcasting does all rows at once: s.mean(axis=1, keepdims=True) is one node.
def mine(s):
    return sum(((s[i] - s[i].mean()) ** 2).sum() for i in range(s.shape[0]))


# %% wrong="own_loss"
# Shows: In each row only some of the scores count: another can move and the loss stays as it is.
# Hint: Compare every score with something from its row, not just one score with one other.
def mine(s):
    return ((s[:, 0] - s[:, 1]) ** 2).sum() + (s[:, 1] - s[:, 0]).sum()


# %% [markdown]
# ## Done
#
# Run a `check` again whenever you like; `solution("layer_back")` shows a way for a part that you have finished or given
# up. Going further, after the optional parts: draw `mg.draw(mine(s))` and `mg.draw(mg.cross_entropy(s, t))`, and look
# for what is subtracted from each row in the second.
#
# **Next**: [05 Two directions](../lessons/05_two_directions.ipynb).
