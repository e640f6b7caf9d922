# ---
# jupyter:
#   minigrad:
#     title: A compiler of your own
#     minutes: 20
#     lesson: 15_compiled_code
#     concepts: [D5]
# ---

# %% [markdown]
# # 15 A compiler of your own
#
# You compute what pays, write a compiler of ten lines, and mend a program whose memory was planned wrongly. Two
# optional parts keep a budget of programs, and give a compiler something to do. About 20 minutes without these two. 10
# points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
import minigrad.graph.autograph  # loads what traces and runs graphs, so that no check has to wait for it
from minigrad.course import check, solution

# %% [markdown]
# ## 1. Does it pay?
#
# **2 points, 6 minutes.** Somebody has measured, in microseconds:
#
# | | eager, a call | compiled, a call | compiling, once for each shape |
# |---|---|---|---|
# | a training step | 500 | 200 | 30,150 |
# | one big product of matrices | 8,000 | 8,000 | 2,000 |
#
# Compiling includes tracing here.
#
# - `from_call`: from which number of calls on is the compiled training step *cheaper* in all?
# - `product`: the same for the product, or None if there is no such number.
# - `twenty`: is it worth compiling the step for 20 calls of one shape? True or False.
# - `shapes`: the step is called 1000 times, each time with another shape. How many microseconds does compiling save in
#   all? (A number below 0 if it loses time.)
# - `same_shape`: the same for 1000 calls of one shape.

# %% answer="worth_it" points=2 minutes=6
### BEGIN SOLUTION
from_call = 101
product = None
twenty = False
shapes = -29_850_000
same_shape = 269_850
### END SOLUTION

# %%
check("worth_it")

# %% probes="worth_it"
# Hint: `from_call`: how much does one call save, and how many calls pay for the compiling? Cheaper means more than
# even.
from_call
# Hint: `product`: what does a compiled call of the product save?
product
# Hint: `twenty`: compare what 20 calls save with the price of compiling.
twenty
# Hint: `shapes`: every new shape pays for its own compiling, and then saves one call.
shapes
# Hint: `same_shape`: one price, and the savings of 1000 calls.
same_shape

# %% [markdown] hints="worth_it"
# 1. A call of the step saves 300 microseconds. How many of them are 30,150? And what does a call of the product save?
# 2. With a new shape at every call, each call pays for a program of its own, and uses it once.
# 3. 100.5 calls are the break-even point, so from call 101 on. 1000 · 300 − 30,150 for one shape; for a thousand
#    shapes, 1000 · (300 − 30,150).

# %% [markdown] shows="worth_it"
# Compiling pays where the saving of a call, times the calls that share its program, is more than the price; where a
# call saves nothing, it never does.

# %% wrong="worth_it" misconception="M8"
# Shows: This fits the belief that compiled is always faster: what compiling itself costs was left out.
# Hint: Compiled is faster only where each call saves something, and only after the savings have paid for the compiling.
# Which of the four cases saves nothing at all, and which never gets its price back?
from_call, product, twenty, shapes, same_shape = 1, 1, True, 300_000, 300_000

# %% wrong="worth_it" misconception="M8"
# Shows: This fits the belief that a product which is no faster compiled pays after some calls.
# Hint: Compiled is not always faster: one product is one call of a library, before and after. What do n calls save?
from_call, product, twenty, shapes, same_shape = 101, 2001, False, -29_850_000, 269_850

# %% wrong="worth_it"
# Shows: This fits the belief that all calls share one program, though each has another shape.
# Hint: A program is made for shapes. How many are made in these 1000 calls?
from_call, product, twenty, shapes, same_shape = 101, None, False, 269_850, 269_850

# %% wrong="worth_it"
# Shows: The price was divided by what a run takes, and not by what a call saves.
# Hint: A call saves 500 − 200. How many of these savings are 30,150?
from_call, product, twenty, shapes, same_shape = 61, None, False, -29_850_000, 269_850

# %% wrong="worth_it"
# Shows: 100 was given, and after 100 calls the savings are 30,000: not yet enough.
# Hint: 30,150 / 300 is 100.5. At the 100th call it is still behind.
from_call, product, twenty, shapes, same_shape = 100, None, False, -29_850_000, 269_850

# %% wrong="worth_it"
# Shows: The price of compiling was forgotten in the 1000 calls of one shape.
# Hint: 1000 · 300 is what they save. What did it cost, once?
from_call, product, twenty, shapes, same_shape = 101, None, False, -29_850_000, 300_000

# %% [markdown]
# ## 2. A compiler in ten lines
#
# **2 points, 7 minutes.** A graph is given as a list of nodes in topological order. A node is a tuple: the name of its
# result, the NumPy function, and the names of its operands.
#
# ```python
# nodes = [("t0", "multiply", "x", "w"), ("t1", "add", "t0", "b"), ("t2", "exp", "x"), ("t3", "tanh", "t1")]
# print(compiled(["x", "w", "b"], nodes, "t3"))
#
# def program(x, w, b):
#     t0 = multiply(x, w)
#     t1 = add(t0, b)
#     t3 = tanh(t1)
#     return t3
# ```
#
# Write `compiled(inputs, nodes, result)`, which returns the text of such a program. It is straight-line code, with one
# line for each node **that the result depends on**, in the order of the list. (Here t2 is left out.)


# %% answer="tiny_compiler" points=2 minutes=7
def compiled(inputs, nodes, result):
    ### BEGIN SOLUTION
    needed, lines = {result}, []
    for name, function, *operands in reversed(nodes):
        if name in needed:
            needed.update(operands)
            lines.append(f"    {name} = {function}({', '.join(operands)})")
    return "\n".join([f"def program({', '.join(inputs)}):", *reversed(lines), f"    return {result}", ""])
    ### END SOLUTION


# %%
check("tiny_compiler")

# %% probes="tiny_compiler"
import ast

import numpy as numeric

from minigrad.draw.picture import Arrow, Box, Picture

CHAIN = [("t0", "multiply", "x", "w"), ("t1", "add", "t0", "b"), ("t2", "exp", "x"), ("t3", "tanh", "t1")]
DIAMOND = [
    *[("a", "exp", "p"), ("dead", "sqrt", "p"), ("c", "subtract", "q", "a"), ("d", "divide", "c", "a")],
    *[("deader", "add", "dead", "c"), ("e", "multiply", "d", "d")],
]


def counted(called, function):
    def run(*operands):
        called.append(function.__name__)
        return function(*operands)

    return run


def run_of(inputs, nodes, result, *values):
    """What the text gives, which functions it calls, and what kinds of statements are in it."""
    text = compiled(inputs, nodes, result)
    called = []
    scope = {node[1]: counted(called, getattr(numeric, node[1])) for node in nodes}
    exec(text, scope)
    (function,) = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    kinds = [type(each).__name__ for each in function.body]
    return round(float(scope["program"](*values)), 6), called, kinds


def graph_of(inputs, nodes, result):
    """The graph that the text writes down, for drawing. It is in order: a line reads only what is there."""
    (function,) = [each for each in ast.parse(compiled(inputs, nodes, result)).body if hasattr(each, "args")]
    boxes = [Box(each.arg, "leaf", each.arg, "", "", "", "") for each in function.args.args]
    arrows, last = [], ""
    for line in function.body:
        if isinstance(line, ast.Return):
            last = line.value.id
            break
        name, reads = line.targets[0].id, [each.id for each in line.value.args]
        boxes.append(Box(name, "op", name, line.value.func.id, "", "", ""))
        arrows += [Arrow(f"{read} to {name}, {i}", read, name) for i, read in enumerate(reads)]
    return Picture(tuple(boxes), tuple(arrows), (last,) if last else ())


# Hint: The text is a function with one line for each node that the result depends on, in the order of the list, and a
# `return`.
# Graph: graph_of(["x", "w", "b"], CHAIN, "t3")
run_of(["x", "w", "b"], CHAIN, "t3", 0.5, 2.0, -0.25)
# Hint: What the result does not depend on has no line, even if it stands among nodes that it needs. The operands keep
# their order.
# Graph: graph_of(["p", "q"], DIAMOND, "e")
run_of(["p", "q"], DIAMOND, "e", 0.5, 3.0)
# Hint: Another result of the same list: now the result needs other nodes.
# Graph: graph_of(["p", "q"], DIAMOND, "deader")
run_of(["p", "q"], DIAMOND, "deader", 0.5, 3.0)
# Hint: A result early in the list: the later nodes are not needed.
# Graph: graph_of(["p", "q"], DIAMOND, "a")
run_of(["p", "q"], DIAMOND, "a", 0.5, 3.0)
# Hint: The result may be an input: then there is nothing but the `return`.
# Graph: graph_of(["p", "q"], DIAMOND, "q")
run_of(["p", "q"], DIAMOND, "q", 0.5, 3.0)

# %% [markdown] hints="tiny_compiler"
# 1. Do not compute anything: for each node, write the line that would. `f"    {name} = {function}(...)"`.
# 2. For what is needed, go through the list from the end: the result is needed; of what is needed, the operands are.
# 3. `for name, function, *operands in reversed(nodes): if name in needed: needed.update(operands)` and append the line;
#    then reverse the lines, and put them between `def program(…):` and `    return …`.

# %% [markdown] shows="tiny_compiler"
# A compiled program is the graph written down line by line in topological order, without what the result does not
# need.


# %% wrong="tiny_compiler"
# Shows: Every node became a line, even those on which the result does not depend.
# Hint: Go through the nodes from the end, and keep a set of the names that are needed.
def compiled(inputs, nodes, result):
    lines = [f"    {name} = {function}({', '.join(operands)})" for name, function, *operands in nodes]
    return "\n".join([f"def program({', '.join(inputs)}):", *lines, f"    return {result}"])


# %% wrong="tiny_compiler"
# Shows: The lines are in the order of the walk, from the result back: names are read before they are there.
# Hint: You went backwards to see what is needed. Reverse the lines before you join them.
def compiled(inputs, nodes, result):
    needed, lines = {result}, []
    for name, function, *operands in reversed(nodes):
        if name in needed:
            needed.update(operands)
            lines.append(f"    {name} = {function}({', '.join(operands)})")
    return "\n".join([f"def program({', '.join(inputs)}):", *lines, f"    return {result}"])


# %% wrong="tiny_compiler"
# Shows: Only the operands of the result itself are taken as needed, and not theirs.
# Hint: What is needed grows as you go back: the operands of each line that you keep are needed, too.
def compiled(inputs, nodes, result):
    needed = {result} | {x for name, _, *operands in nodes if name == result for x in operands}
    lines = [f"    {name} = {f}({', '.join(operands)})" for name, f, *operands in nodes if name in needed]
    return "\n".join([f"def program({', '.join(inputs)}):", *lines, f"    return {result}"])


# %% wrong="tiny_compiler"
# Shows: There is a loop in the text: that is an interpreter, which walks the nodes at every run.
# Hint: Walk the nodes while you write. In the text there is a line for each of them, and no list.
def compiled(inputs, nodes, result):
    needed, kept = {result}, []
    for name, function, *operands in reversed(nodes):
        if name in needed:
            needed.update(operands)
            kept.insert(0, f"({name!r}, {function}, {operands!r})")
    return "\n".join(
        [
            f"def program({', '.join(inputs)}):",
            f"    values = dict({', '.join(f'{x}={x}' for x in inputs)})",
            f"    for name, f, operands in [{', '.join(kept)}]:",
            "        values[name] = f(*[values[x] for x in operands])",
            f"    return values[{result!r}]",
        ]
    )


# %% wrong="tiny_compiler"
# Shows: There is no text, because it was printed and not returned; or the program in it has no return.
# Hint: `compiled` returns the text, and the last line of the text is `return` and the name of the result.
def compiled(inputs, nodes, result):
    needed, lines = {result}, []
    for name, function, *operands in reversed(nodes):
        if name in needed:
            needed.update(operands)
            lines.insert(0, f"    {name} = {function}({', '.join(operands)})")
    return "\n".join([f"def program({', '.join(inputs)}):", *lines])


# %% wrong="tiny_compiler"
# Shows: The operands were written in another order: a − b is not b − a.
# Hint: Keep the operands as a list, in their order; only the set of needed names has none.
def compiled(inputs, nodes, result):
    needed, lines = {result}, []
    for name, function, *operands in reversed(nodes):
        if name in needed:
            needed.update(operands)
            lines.insert(0, f"    {name} = {function}({', '.join(reversed(operands))})")
    return "\n".join([f"def program({', '.join(inputs)}):", *lines, f"    return {result}"])


# %% [markdown]
# ## 3. A plan that is wrong
#
# **2 points, 7 minutes.** Somebody wrote a program by hand. With a number w it computes y = tanh(x · w), the loss,
# which is the sum of y², and the derivative of the loss with respect to w. All of it happens in two arrays, a and b.
#
# ```python
# def step(x, w):
#     a, b = np.empty_like(x), np.empty_like(x)
#     np.multiply(x, w, a)         # z
#     np.tanh(a, a)                # y
#     np.multiply(a, a, b)         # y²
#     loss = b.sum()
#     np.multiply(a, 2.0, a)       # the gradient of y: 2y
#     np.multiply(a, a, b)         # y²
#     np.subtract(1.0, b, b)       # the slope of tanh: 1 − y²
#     np.multiply(a, b, b)         # the gradient of z
#     np.multiply(b, x, b)
#     return loss, b.sum()
# ```
#
# The loss is right, and the derivative is not. Write `step(x, w)` so that both are right. Use no more than two arrays
# of the size of x, and do not change x, which belongs to the caller.


# %% answer="wrong_buffer" points=2 minutes=7
def step(x, w):
    ### BEGIN SOLUTION
    a, b = np.empty_like(x), np.empty_like(x)
    np.multiply(x, w, a)
    np.tanh(a, a)
    np.multiply(a, a, b)
    loss = b.sum()
    np.subtract(1.0, b, b)
    np.multiply(a, 2.0, a)
    np.multiply(a, b, b)
    np.multiply(b, x, b)
    return loss, b.sum()
    ### END SOLUTION


# %%
check("wrong_buffer")

# %% probes="wrong_buffer"
import tracemalloc as memory

import numpy as numeric

import minigrad as engine


def stepped(n, w):
    loss, slope = step(numeric.random.default_rng(n).normal(size=n), w)
    return float(loss), float(slope)


@referee
def stepped(sent, n, w):
    """The loss and the derivative, as they come, and beside those of the engine."""
    loss, slope = sent
    x = numeric.random.default_rng(n).normal(size=n)
    v = engine.tensor(w, requires_grad=True)
    y = engine.tanh(engine.tensor(x) * v)
    wanted = (y * y).sum()
    wanted.backward()
    agree = abs(loss - wanted.item()) < 1e-9 * n, abs(slope - v.grad.item()) < 1e-9 * n
    return {"loss": round(loss, 4), "derivative": round(slope, 4), "as the engine's": agree}


def untouched():
    x = numeric.linspace(-1, 1, 50)
    step(x, 0.7)
    return x


@referee
def untouched(x):
    return numeric.array_equal(x, numeric.linspace(-1, 1, 50))


def within_two():
    """How much is taken at a time, in arrays of the size of x."""
    x = numeric.ones(200_000)
    step(x, 0.5)
    memory.start()
    step(x, 0.5)
    most = memory.get_traced_memory()[1]
    memory.stop()
    return most / x.nbytes


@referee
def within_two(arrays):
    return arrays < 2.5


# Hint: For each line, ask what a and b hold at that moment. y is needed for 1 − y², and y² still is in b after the
# loss.
stepped(5, 0.5)
# Hint: Another length, and a negative w.
stepped(40, -1.3)
# Hint: x belongs to the caller: no line may write into it.
untouched()
# Hint: More than two arrays of the size of x are there at a time: give every operation a place to write to.
within_two()

# %% [markdown] hints="wrong_buffer"
# 1. For each line, ask what its operands hold at that moment. What is in a when `multiply(a, a, b)` reads it again?
# 2. y is written over by 2y while it is still to be read. Either read it before, or find y² where it still is.
# 3. After the loss, y² is in b: do `subtract(1.0, b, b)` at once, then `multiply(a, 2.0, a)`, and leave the second
#    `multiply(a, a, b)` out.

# %% [markdown] shows="wrong_buffer"
# A place may be written over when its value has had its last reader, and the backward pass reads, too.


# %% wrong="wrong_buffer"
# Shows: It is as it was: the slope is computed from (2y)², because y had been written over.
# Hint: Follow a line by line: which line is the last that needs y, and which one writes over it?
def step(x, w):
    a, b = np.empty_like(x), np.empty_like(x)
    np.multiply(x, w, a)
    np.tanh(a, a)
    np.multiply(a, a, b)
    loss = b.sum()
    np.multiply(a, 2.0, a)
    np.multiply(a, a, b)
    np.subtract(1.0, b, b)
    np.multiply(a, b, b)
    np.multiply(b, x, b)
    return loss, b.sum()


# %% wrong="wrong_buffer"
# Shows: Both numbers are right, in more than two arrays at a time.
# Hint: Without a place for the result each operation makes a new array. There is an order that needs two.
def step(x, w):
    y = np.tanh(x * w)
    g = 2 * y
    slope = 1 - y * y
    return (y * y).sum(), (g * slope * x).sum()


# %% wrong="wrong_buffer"
# Shows: The last product was written into x, which belongs to the caller.
# Hint: The third argument is what is written over. Let it be a or b.
def step(x, w):
    a, b = np.empty_like(x), np.empty_like(x)
    np.multiply(x, w, a)
    np.tanh(a, a)
    np.multiply(a, a, b)
    loss = b.sum()
    np.subtract(1.0, b, b)
    np.multiply(a, 2.0, a)
    np.multiply(a, b, b)
    np.multiply(b, x, x)
    return loss, x.sum()


# %% wrong="wrong_buffer"
# Shows: The derivative is half of what it should be: the 2 of 2y has gone.
# Hint: The derivative of y² is 2y. Keep that line, after the last one that needs y itself.
def step(x, w):
    a, b = np.empty_like(x), np.empty_like(x)
    np.multiply(x, w, a)
    np.tanh(a, a)
    np.multiply(a, a, b)
    loss = b.sum()
    np.subtract(1.0, b, b)
    np.multiply(a, b, b)
    np.multiply(b, x, b)
    return loss, b.sum()


# %% wrong="wrong_buffer"
# Shows: The derivative is right, and the loss is not: b was written over before it was added up.
# Hint: The sum of y² has to be taken while b still holds y².
def step(x, w):
    a, b = np.empty_like(x), np.empty_like(x)
    np.multiply(x, w, a)
    np.tanh(a, a)
    np.multiply(a, a, b)
    np.subtract(1.0, b, b)
    loss = b.sum()
    np.multiply(a, 2.0, a)
    np.multiply(a, b, b)
    np.multiply(b, x, b)
    return loss, b.sum()


# %% wrong="wrong_buffer"
# Shows: The factor x is missing: this is the sum of the gradient of z.
# Hint: z = x · w, so the derivative with respect to w is the gradient of z times x, added up.
def step(x, w):
    a, b = np.empty_like(x), np.empty_like(x)
    np.multiply(x, w, a)
    np.tanh(a, a)
    np.multiply(a, a, b)
    loss = b.sum()
    np.subtract(1.0, b, b)
    np.multiply(a, 2.0, a)
    np.multiply(a, b, b)
    return loss, b.sum()


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. A budget of programs
#
# **2 points, 8 minutes.** `f` is a traced function. It takes a tensor of shape (rows, 3), and returns one number: the
# largest sum of a row. `batches` is a list of NumPy arrays with 1 to 64 rows.
#
# Write `judged(f, batches)`, which returns the list of the numbers, as floats. Fill each batch up to one of a few
# lengths, so that
#
# - `f` sees at most 7 different shapes;
# - each shape has fewer than twice as many rows as its batch.
#
# Take care what you fill up with: all numbers of a batch may be below 0.


# %% answer="few_programs" points=2 minutes=8
def judged(f, batches):
    ### BEGIN SOLUTION
    found = []
    for x in batches:
        rows = 2 ** (len(x) - 1).bit_length()
        filled = np.concatenate([x, np.repeat(x[-1:], rows - len(x), axis=0)])  # a row that is there changes no maximum
        found.append(f(mg.tensor(filled)).item())
    return found
    ### END SOLUTION


# %%
check("few_programs")

# %% probes="few_programs"
import numpy as numeric


def batches_of(lengths, shift):
    rng = numeric.random.default_rng(len(lengths))
    return [rng.normal(size=(n, 3)) + shift for n in lengths]


def seen_by(lengths, shift):
    """The numbers, and the shapes that f saw."""
    saw = []

    def f(x):
        saw.append(tuple(x.shape))
        return x.sum(1).max()

    return [float(each) for each in judged(f, batches_of(lengths, shift))], saw


@referee
def seen_by(sent, lengths, shift):
    """Whether the numbers are right, whether f saw few shapes, and none twice as long as its batch."""
    found, saw = sent
    batches = batches_of(lengths, shift)
    right = len(found) == len(batches) and all(abs(a - b.sum(1).max()) < 1e-12 for a, b in zip(found, batches))
    wasteful = len(saw) != len(batches) or any(s[0] >= 2 * n for s, n in zip(saw, lengths))
    return {
        "numbers are right": right,
        "7 shapes at most": len(set(map(tuple, saw))) <= 7,
        "one call a batch, none twice as long": not wasteful,
    }


# Hint: Batches of 1 to 64 rows: seven lengths are enough for all, and none may be twice as long as its batch.
seen_by(range(1, 65), 0.0)
# Hint: All sums are below 0 here: a row of zeros would be the largest. Fill up with a row that is there already.
seen_by([3, 5, 6, 7, 9, 30], -10.0)
# Hint: These lengths are powers of two already: they stay as they are.
seen_by([1, 2, 4, 8, 16, 32, 64], 0.0)
# Hint: Lengths between two powers of two.
seen_by([21, 29, 24], 5.0)

# %% [markdown] hints="few_programs"
# 1. Seven lengths for 1 to 64, and none twice as long as needed: 1, 2, 4, 8, 16, 32 and 64.
# 2. The next power of two of n is `2 ** (n - 1).bit_length()`. What can you add to a batch so that its largest sum
#    stays? A row that is there already.
# 3. `np.concatenate([x, np.repeat(x[-1:], rows - len(x), axis=0)])`, and then `f(mg.tensor(...)).item()`.

# %% [markdown] shows="few_programs"
# A little wasted arithmetic buys far fewer programs: seven shapes serve all lengths from 1 to 64, with less than
# twice the rows.


# %% wrong="few_programs"
# Shows: Nothing is filled up, so there is a program for each length.
# Hint: Bring the lengths to 1, 2, 4, … 64 before f sees them.
def judged(f, batches):
    return [f(mg.tensor(x)).item() for x in batches]


# %% wrong="few_programs"
# Shows: The batch is filled up with zeros, and where all its sums are below 0, a row of zeros is the largest.
# Hint: Fill up with something that cannot be larger than what is there: a row of the batch itself.
def judged(f, batches):
    found = []
    for x in batches:
        rows = 2 ** (len(x) - 1).bit_length()
        found.append(f(mg.tensor(np.pad(x, ((0, rows - len(x)), (0, 0))))).item())
    return found


# %% wrong="few_programs"
# Shows: Some shape has twice as many rows as its batch, or more; or f was not called once for each batch.
# Hint: The budget has two sides: few shapes, and none of them twice as long as the batch. Each number is what f gives.
def judged(f, batches):
    return [f(mg.tensor(np.concatenate([x, np.repeat(x[-1:], 64 - len(x), axis=0)]))).item() for x in batches]


# %% wrong="few_programs"
# Shows: A batch whose length is a power of two already goes to the next one: that is twice as many rows.
# Hint: Compare n = 8: `n.bit_length()` is 4, and `(n - 1).bit_length()` is 3.
def judged(f, batches):
    found = []
    for x in batches:
        rows = 2 ** len(x).bit_length()
        found.append(f(mg.tensor(np.concatenate([x, np.repeat(x[-1:], rows - len(x), axis=0)]))).item())
    return found


# %% wrong="few_programs"
# Shows: The batch is cut to the power of two below its length: rows are lost.
# Hint: Fill up, and do not cut: the next power of two, not the one before.
def judged(f, batches):
    return [f(mg.tensor(x[: 2 ** (len(x).bit_length() - 1)])).item() for x in batches]


# %% wrong="few_programs"
# Shows: Lengths are rounded up to multiples of 10: seven shapes, and for short batches far too long.
# Hint: Steps that grow with the length waste the same share everywhere: powers of two.
def judged(f, batches):
    found = []
    for x in batches:
        rows = -(-len(x) // 10) * 10
        found.append(f(mg.tensor(np.concatenate([x, np.repeat(x[-1:], rows - len(x), axis=0)]))).item())
    return found


# %% [markdown]
# ### 5. Something to do for a compiler
#
# **2 points, 10 minutes.** Design a function `f(x)`, of a tensor of 1000 numbers, that a compiler makes much shorter.
# Use what you know from lesson 13. It is right if
#
# - its graph, before any pass, has at least 12 operations (what nobody reads is in no graph);
# - its program has at most 4 lines that compute, and gives the same bits;
# - f(x) depends on x, and has a bend: it is not a straight line.
#
# It runs eagerly, too, so do without `mg.constant`, which belongs to graphs.


# %% answer="own_saving" points=2 minutes=10
def f(x):
    ### BEGIN SOLUTION
    y = mg.exp(x) * mg.exp(x)
    for _ in range(4):
        y = y.neg().neg() * 1
    return y
    ### END SOLUTION


# %%
check("own_saving")

# %% probes="own_saving"
import re as expressions

import numpy as numeric

import minigrad as engine


def given():
    return numeric.random.default_rng(0).uniform(0.5, 1.5, 1000)


def written_down():
    graph = engine.function(f, autograph=False).graph_for(engine.tensor(given()))
    return len([node for node in graph.nodes if node.inputs])


@referee
def written_down(operations):
    """How many operations the result is made by, up to 12, before any pass."""
    return min(operations, 12)


def of_the_program():
    """The lines of the program, what it gives, and what a run gives."""
    traced = engine.function(f, autograph=False)
    x = engine.tensor(given())
    with numeric.errstate(all="ignore"):
        got, wanted = traced(x), f(x)
    return traced.source[traced.source.index("def program") :].splitlines()[1:], got.numpy(), wanted.numpy()


@referee
def of_the_program(sent):
    """How many lines of the program compute, and whether its bits are those of a run."""
    body, got, wanted = sent
    lines = [line for line in body if not expressions.match(r" *(return|y\d+ = (empty|new)|[tv]\d+ = .*reshape)", line)]
    count = sum(1 for line in lines if line.strip())
    length = "4 or fewer" if count <= 4 else "5 to 11" if count < 12 else "12 or more"
    return {"lines that compute": length, "the same bits": numeric.array_equal(got, wanted)}


def bend():
    return [numeric.asarray(f(engine.tensor(given() * scale)).numpy()).sum() for scale in (1.0, 1.1, 1.2)]


@referee
def bend(at):
    """Whether x moves the result, and whether it does so along no straight line."""
    return {
        "x moves the result": bool(abs(at[1] - at[0]) > 1e-6),
        "not along a straight line": bool(abs(at[0] - 2 * at[1] + at[2]) > 1e-6 * abs(at[0])),
    }


# Hint: Before any pass the graph should have at least 12 operations: what nobody reads is in no graph.
written_down()
# Hint: The program should have at most 4 lines that compute, and give the same bits. What do the passes merge,
# drop and fuse?
of_the_program()
# Hint: The result should depend on x, and not along a straight line.
bend()

# %% [markdown] hints="own_saving"
# 1. What does a compiler take out? The same thing computed twice; times 1; what is negated twice.
# 2. In eager mode all of that is computed. Take one operation with a bend, and wrap it in others that change nothing.
# 3. `y = mg.exp(x) * mg.exp(x)`, and then, four times, `y = y.neg().neg() * 1`.

# %% [markdown] shows="own_saving"
# A compiler finds what the graph shows to be superfluous: twelve operations or more became four lines at most, and
# every bit stayed.


# %% wrong="own_saving"
# Shows: The program is as long as the run: every operation is needed.
# Hint: Let most of them change nothing, or compute again what is there already.
def f(x):
    for _ in range(6):
        x = mg.tanh(x) + 0.5
    return x


# %% wrong="own_saving"
# Shows: The compiler takes something out, but not yet enough: more than 4 lines of the program compute.
# Hint: Print the `.source` of `mg.function(f)` after a call, and ask of each line why it is still there. x + 0 is not
# x.
def f(x):
    y = mg.exp(x * 2)
    for _ in range(2):
        y = (y + 0).tanh()
    for _ in range(4):
        y = y.neg().neg()
    return y


# %% wrong="own_saving"
# Shows: The result is made by fewer than 12 operations, so there is not much to take out.
# Hint: Repeat what the compiler will remove, in a Python loop.
def f(x):
    return mg.exp(x) * 1


# %% wrong="own_saving"
# Shows: Most of what is computed is read by nobody, and was never in the graph: there is nothing to take out.
# Hint: Let the result go through all of the twelve: y = y.neg().neg() in a loop.
def f(x):
    for _ in range(12):
        x.tanh()
    return mg.exp(x) * mg.exp(x)


# %% wrong="own_saving"
# Shows: The result does not depend on x: the whole function is a constant.
# Hint: Only what is superfluous should be removed, and the dependence on x should stay. Begin with mg.exp(x).
def f(x):
    y = x * 0 + 1
    for _ in range(6):
        y = y.neg().neg()
    return y


# %% wrong="own_saving"
# Shows: It is a straight line: nothing is left in it but a factor.
# Hint: Put one operation with a bend into it, such as mg.exp.
def f(x):
    y = x * 2
    for _ in range(6):
        y = y.neg().neg()
    return y


# %% wrong="own_saving"
# Shows: It works in eager mode, but cannot be traced: it asks for numbers while there are none.
# Hint: Operations on tensors only: no .numpy(), no NumPy functions of what is computed.
def f(x):
    y = mg.tensor(np.exp(x.numpy())) + 0 * x
    for _ in range(6):
        y = y.neg().neg()
    return y


# %% [markdown]
# ## What you have now
#
# You have a compiler that fits on a page, an eye for a place that is written over too early, and a rule for when to
# compile: what each call saves, times the number of calls, against the price.
#
# Let your `compiled` write a program for `tanh(x * w + b) * x`, and run its text with `exec`, as the lesson did. If you
# did part 4, change its budget: can you do it with five shapes, if three times too long is allowed?
#
# **Next**: [16 Where the bytes go](../lessons/16_where_the_bytes_go.ipynb).
