# ---
# jupyter:
#   minigrad:
#     title: What a computation graph is
#     minutes: 30
#     objectives:
#     - name the nodes and edges of any expression, and pick its leaves, intermediate nodes and output
#     - say in which orders a graph can be computed, and why it has no cycle
#     - predict which graph a function leaves behind, with a branch, a loop, or a value used twice
#     concepts: [A1, A2, A3, A4]
#     builds_on: [00_start_here]
#     widgets: [ChainRule, Predict, Quiz]
#     terms:
#       computation graph: A directed graph without cycles that says how a result was, or will be, computed; its nodes
#         are operations, variables and constants, and its edges say what needs what
#       node: One operation with its result, or a number that was given; a box of the picture
#       edge: An arrow from a node to one that needs its value
#       parents: The nodes whose values a node was made from
#       leaf: A node that no operation of the graph made, such as an input, a parameter or a constant; also a result
#         that was computed without being recorded (lesson 06)
#       constant: A number written in the expression itself, which is a leaf that needs no gradient
#       intermediate node: An operation and its result, on the way from the leaves to the output
#       output: The node that was asked for, and that the graph belongs to; in training, the loss
#       fan-out: Two or more arrows that leave one node, because its value is used more than once
#       forward pass: The computation of all values, from the leaves to the output, parents first
#       topological order: A row of all nodes in which each stands after its parents
#       define by run: The graph is made while the program computes, one node for each operation that ran
#       eager: Said of code, or of the mode it runs in, if each operation computes its result as soon as Python
#         reaches it
#       acyclic: With no path along the arrows that leads back to where it began
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 01 What a computation graph is
#
# Python computes `z = x * y + w`, hands you a 7, and forgets how it got there. **What must be remembered, so that the
# computation can be run again, walked backwards, drawn, or made faster?** The answer is a graph, and every
# deep-learning framework builds one before it sends gradients back.
#
# This lesson takes that graph apart. You will see why `y = y + 1` does not go round in a circle, what an `if` leaves
# behind, and how a single innocent `.data` can cut a graph in two while every number stays right.
#
# **About 30 minutes.** Afterwards you can
#
# - name the nodes and edges of any expression, and pick its leaves, intermediate nodes and output;
# - say in which orders a graph can be computed, and why it has no cycle;
# - predict which graph a function leaves behind: with a branch, a loop, or a value used twice.
#
# **Builds on** [00 Start here](00_start_here.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): arrows, and the walk back.

# %% slideshow={"slide_type": "skip"}
import gc
from itertools import permutations

from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.scalar.value import history
from minigrad.widgets import ChainRule

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Nodes and edges
#
# In lesson 00 the picture of `z = x * y + w` had five boxes. Now we compute it in two lines: `temp = x * y`, and then
# `z = temp + w`. How many boxes will the picture of `z` have?

# %% slideshow={"slide_type": "fragment"}
Predict("boxes", "How many boxes will the picture of z have?")

# %% [markdown] slideshow={"slide_type": "notes"}
# Collect guesses aloud: 2 (the operations), 5 and 6 (one more for temp) all come. Each counts something; ask its owner
# what. Four minutes with the next page.

# %% slideshow={"slide_type": "fragment"}
x, y, w = mg.Value(2.0), mg.Value(3.0), mg.Value(1.0)
temp = x * y
z = temp + w
reveal("boxes", len(history(z)))

# %% slideshow={"slide_type": "fragment"}
mg.draw(z)

# %% [markdown] slideshow={"slide_type": "fragment"}
# Still five: x, y, w, the product and the sum. The name `temp` is for us. The product has a box with or without a name;
# in lesson 00 the picture called it `#3`.

# %% [markdown] slideshow={"slide_type": "subslide"}
# A **computation graph** is a directed graph without cycles. A **node** is an operation, or a variable or constant that
# operations work on. An operation and its result share a box, because each operation here makes one number. An **edge**
# is an arrow along which a number flows. It is a *data dependency*: "`z` needs `temp`".
#
# An arrow is stored at the end where it arrives: a node remembers its **parents**, the values it was made from. So the
# whole data structure is a number, a symbol, and references to the parents. `history(z)` follows the references until
# there are none left, and returns all nodes of the graph.
#
# The next cell shows the symbol of `z` and the numbers of its parents. (In `z.parents` each parent comes with a slope.
# We leave the slopes aside; the walk back in lesson 02 needs them.)

# %% slideshow={"slide_type": "fragment"}
z.op, [parent.data for parent, slope in z.parents]

# %% [markdown] slideshow={"slide_type": "notes"}
# Draw the five nodes on the board while you read z.parents: an arrow is stored where it arrives. Anyone who thinks that
# x knows about z has it the wrong way round, and will be lost on the walk back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Leaves, intermediate nodes, output
#
# | in the picture | what it is | here |
# |---|---|---|
# | tinted square | a **leaf**: given, not computed; an input, or a parameter that training changes | `x`, `y`, `w` |
# | small box with a dotted frame | a **constant**: a number written in the expression; it is a leaf too | none |
# | rounded box with a symbol | an **intermediate node**: an operation, and its result | `temp` |
# | rounded box with a thick border | the **output**: what we asked for; in training, the loss | `z` |
# | `saved` | the walk back will read this value again: lesson 02 | `x`, `y` |
#
# A leaf is a node that no recorded operation made. So it has no parents, and that is how you find it:

# %% slideshow={"slide_type": "fragment"}
[v.data for v in history(z) if not v.parents]

# %% [markdown] slideshow={"slide_type": "notes"}
# Ask what could be a leaf and the output at once: the only node of a graph of one. If there is time, open the folded
# section below: everybody writes an expression, and picks its leaves before running it.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a graph of your own, and operations on edges
#
# Pick the leaves of an expression that you write yourself, and see the other way of drawing a graph. You can follow the
# lesson without this section.

# %% [markdown] slideshow={"slide_type": "skip"}
# **Your own graph.** Write an expression into the second line below, with `+`, `-`, `*`, `/`, `** 2`, `.exp()`,
# `.tanh()` or `.relu()`. (tanh turns every number into a number between −1 and 1; relu(x) is x above 0, and 0 below.)
# *Before you run the cell*, list the leaves of your expression in `picked`.

# %% slideshow={"slide_type": "skip"}
a, b, c = mg.Value(4.0), mg.Value(-1.0), mg.Value(0.5)
my_graph = (a + b) * c - b
picked = []  # such as [a, my_graph]


def leaves(output):
    return [v for v in history(output) if not v.parents]


right = {v for v in picked if v in leaves(my_graph)}
wrong = set(picked) - right
print(f"{len(leaves(my_graph))} leaves; you picked {len(right)} of them, and {len(wrong)} nodes that are not leaves")
mg.draw(my_graph)

# %% [markdown] slideshow={"slide_type": "skip"}
# Did you miss a leaf that has no name? Look for a dotted frame: a number that you wrote in the expression is a leaf.
# (The 2 of `** 2` is the one exception. It is a part of the operation's symbol, and not a parent.) A value that is used
# twice is still one leaf; we come to that below.

# %% [markdown] slideshow={"slide_type": "skip"}
# #### Operations on nodes, or on edges?
#
# Some books draw the graph the other way: a node is a value and nothing else, and the operation is written *on the
# edges*. Both pictures show the same graph. But an operation on two operands has two edges, so on edges each symbol is
# written twice: four symbols for two operations. This course draws *operations on nodes*: one operation, one node.

# %% slideshow={"slide_type": "skip"}
symbols_on_nodes = [v.op for v in history(z) if v.op]
symbols_on_edges = [v.op for v in history(z) for _ in v.parents]
print("on nodes:", symbols_on_nodes, "  on edges:", symbols_on_edges)
mg.draw(z, ops="edges")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One function, two graphs
#
# `x * (y + w)` and `x * y + x * w` are equal for all numbers. Their graphs are not:


# %% slideshow={"slide_type": "subslide"}
def operations(output):
    """The symbols of all operations in a graph."""
    return [v.op for v in history(output) if v.parents]


factored = x * (y + w)
expanded = x * y + x * w
display(mg.draw(factored), mg.draw(expanded))
print(factored.data, operations(factored))
print(expanded.data, operations(expanded))

# %% [markdown] slideshow={"slide_type": "fragment"}
# Both give 8, and the second needs one more operation. A graph is not a function: it is *one way to compute it*. With
# the graph in hand, a program can look for a cheaper way. That is what graph compilers do, and what lesson 13 is about.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ask for the number of operations before you show the drawings: most say one more, and some say three, because they
# count nodes; the shared leaves are not new. One sentence on compilers is enough here.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Used twice, or written twice?
#
# Both `s + s`, with `s = x * y`, and `x * y + x * y` compute 2xy. How many nodes does each graph have?

# %% slideshow={"slide_type": "fragment"}
Predict(
    "nodes of both",
    "How many nodes do the graphs of s + s and of x * y + x * y have?",
    options=["4 and 4", "4 and 5", "5 and 4", "5 and 5"],
)

# %% slideshow={"slide_type": "subslide"}
s = x * y
used_twice = s + s
written_twice = x * y + x * y
reveal("nodes of both", f"{len(history(used_twice))} and {len(history(written_twice))}")

# %% slideshow={"slide_type": "fragment"}
display(mg.draw(used_twice), mg.draw(written_twice))

# %% [markdown] slideshow={"slide_type": "fragment"}
# A value that is *used twice is one node with two arrows* leaving it. An expression that is *written twice is two
# nodes*, because Python computed it twice. The graph knows objects, not formulas.
#
# Two or more arrows that leave one node are called **fan-out**. Remember the picture: on the way back, something will
# come along each of those arrows, and meet in that node.

# %% [markdown] slideshow={"slide_type": "notes"}
# The next lesson hangs on this picture. Point at the two arrows, and ask what comes back along them. Leave the question
# open.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Forward: parents first
#
# The **forward pass** computes the values, from the leaves to the output. It needs nothing but what the graph
# remembers.

# %% [markdown] slideshow={"slide_type": "skip"}
# Here is a forward pass for the two operations in the graph of `z`:


# %% slideshow={"slide_type": "skip"}
def forward(order):
    """Compute the nodes in this order, and return the value of the last one."""
    compute = {"+": lambda a, b: a + b, "×": lambda a, b: a * b}
    known = {}
    for v in order:
        operands = [known[parent] for parent, _ in v.parents]
        known[v] = compute[v.op](*operands) if v.parents else v.data
    return known[order[-1]]


forward([x, y, temp, w, z])

# %% [markdown] slideshow={"slide_type": "skip"}
# A node can be computed when all its parents are known, and not before. Ask for `temp` first, and Python complains in
# the last line of the error: the Value 2, which is `x`, is not known yet.

# %% tags=["raises-exception"] slideshow={"slide_type": "skip"}
forward([temp, x, y, w, z])

# %% [markdown] slideshow={"slide_type": "fragment"}
# An order in which every node comes after its parents is a **topological order**. Step through the *forward* half of
# the widget, up to the word *backward*. Before each step, say which boxes could be next: there may be more than one.

# %% slideshow={"slide_type": "fragment"}
ChainRule(expanded)

# %% [markdown] slideshow={"slide_type": "fragment"}
# The widget computed one product first; it could just as well have started with the other. The arrows say what *must*
# come first, and leave the rest open. The two products do not wait for each other, so two workers could handle them at
# the same time. Parallel machines live on this freedom of order.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Before each step the room says which boxes could be next; where there are two, take a vote, and let the
# widget disagree. A folded section further below counts the orders of z.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What does an `if` leave behind?
#
# Nobody *built* these graphs. Each operation computed its number at once, which is called **eager** execution, and left
# a node behind. So the graph grew while Python ran: **define by run**. Here is a function with two branches. After
# `f(3)` has run, is there an exp in the graph of its result?


# %% slideshow={"slide_type": "fragment"}
def f(x):
    if x.data > 0:
        y = x * x
    else:
        y = (-x).exp()
    return y + 1


# %% slideshow={"slide_type": "fragment"}
Predict("exp in the graph of f(3)", "Is there an exp in the graph of f(3)?", options=["yes", "no"])

# %% slideshow={"slide_type": "subslide"}
p = mg.Value(3.0)
q = mg.Value(-0.5)
reveal("exp in the graph of f(3)", "yes" if "exp" in operations(f(p)) else "no")

# %% slideshow={"slide_type": "fragment"}
display(mg.draw(f(p)), mg.draw(f(q)))

# %% [markdown] slideshow={"slide_type": "fragment"}
# **One function, two inputs, two graphs.** Only the branch that ran is recorded. You cannot see the `if` itself: it
# belonged to Python, and it looked at a plain number.

# %% [markdown] slideshow={"slide_type": "notes"}
# Many are certain that both branches are in the graph, and they are wrong: the if is Python's, and it saw a plain
# number. The loop below, which halves, is for those who ask.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### Loops
#
# A loop is no different. Its operations are recorded once for each time round, and the number of rounds may depend on
# the data:


# %% slideshow={"slide_type": "skip"}
def halved(x):
    while x.data > 1:
        x = x / 2
    return x


[(number, operations(halved(mg.Value(number)))) for number in (0.7, 3.0, 20.0)]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Why there is no cycle
#
# `y = y + 1` mentions `y` on both sides. Is that not a node that needs itself? Do it three times in a row, starting
# from one leaf. How many nodes does that make, counting the constants?

# %% slideshow={"slide_type": "fragment"}
Predict("nodes after three", "How many nodes are there after three additions?")

# %% slideshow={"slide_type": "fragment"}
start = mg.Value(0.0)
y = start
for _ in range(3):
    y = y + 1
reveal("nodes after three", len(history(y)))

# %% slideshow={"slide_type": "fragment"}
mg.draw(y)

# %% [markdown] slideshow={"slide_type": "fragment"}
# No node changed. Each `y + 1` made a *new* node from an old one, with a new constant for its 1, and the *name* y moved
# on to it. Parents exist before their children, so arrows point from older nodes to newer ones, never back. Computing
# cannot make a cycle. That is why such a graph is called **acyclic**, and a DAG: a directed acyclic graph.

# %% [markdown] slideshow={"slide_type": "notes"}
# Write y = y + 1 on the board, and let somebody defend that it is a cycle. Then draw the names as stickers that move
# from box to box.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: all orders of a graph, and a forged cycle
#
# Count the topological orders of `z`, and then break a graph by hand. You can follow the lesson without this section.

# %% [markdown] slideshow={"slide_type": "skip"}
# The five nodes of `z` can be put in a row in 120 ways. In how many of these rows do parents come first? (`z` must be
# last; `w` may be anywhere before it.) Write down a number before you run the cell.


# %% slideshow={"slide_type": "skip"}
def is_topological(order):
    """Whether every node stands after its parents."""
    place = {v: i for i, v in enumerate(order)}
    return all(place[parent] < place[v] for v in order for parent, _ in v.parents)


rows = list(permutations(history(z)))
orders = [row for row in rows if is_topological(row)]
print(len(orders), "of", len(rows), "rows; the results they give:", {forward(order) for order in orders})

# %% [markdown] slideshow={"slide_type": "skip"}
# All eight give the same 7.

# %% [markdown] slideshow={"slide_type": "skip"}
# #### A forged cycle
#
# To get a cycle, we have to forge one: we change the parents of `egg` by hand. Now `egg` and `hen` wait for each other.
# No order of the two and the constant 2 is topological, and `history` cannot find one either.

# %% tags=["raises-exception"] slideshow={"slide_type": "skip"}
egg = mg.Value(1.0)
hen = egg * 2
egg.parents = ((hen, 1.0),)
two = hen.parents[1][0]
print(sum(map(is_topological, permutations([egg, hen, two]))), "of 6 orders are topological")
history(hen)

# %% [markdown] slideshow={"slide_type": "skip"}
# A recurrent network feeds its output back to its input, and yet its graph has no cycle: its next moment is a new node,
# as with `y`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs
#
# Each operation makes a node, and every node is kept as long as the output lives. Here are a thousand rounds of two
# operations each:

# %% slideshow={"slide_type": "fragment"}
long = x
for _ in range(1000):
    long = long * w + 1
unused = x.exp()  # no later line uses it
print(len(operations(long)), "operations,", len(history(long)), "nodes, unused included:", unused in history(long))

# %% [markdown] slideshow={"slide_type": "fragment"}
# There are 2000 operations and 3002 nodes: two leaves and a new constant for every round are added. `unused` was
# computed too, but `long` does not depend on it, so it is not in the history of `long`.

# %% [markdown] slideshow={"slide_type": "skip"}
# How long do the nodes live? We count all Values in memory, let the name `long` stand for something else, and count
# again.


# %% slideshow={"slide_type": "skip"}
def count_values():
    """How many Values are in memory now."""
    gc.collect()
    return sum(isinstance(thing, mg.Value) for thing in gc.get_objects())


count_before = count_values()
long = None
print("freed:", count_before - count_values())

# %% [markdown] slideshow={"slide_type": "skip"}
# That one name had kept 3000 nodes alive. Memory grows with the *length of the run*, not with the length of the
# program. This is the price of being able to walk back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A thread that was cut
#
# **Where it breaks.** Only operations on Values are recorded. Take the plain number out with `.data`, compute with
# that, and the thread is cut. The result is still right, so this mistake makes no noise.

# %% slideshow={"slide_type": "fragment"}
x, y, w = mg.Value(2.0), mg.Value(3.0), mg.Value(1.0)
cut = mg.Value(x.data * y.data) + w
print("same value:", cut.data == z.data, "  x is in its graph:", x in history(cut))
mg.draw(cut)

# %% [markdown] slideshow={"slide_type": "fragment"}
# The value is the same 7, and `x` is not in the picture: the 6 is a leaf there, because no *recorded* operation made
# it. So no gradient can reach it: after `cut.backward()`, `x.grad` would be 0, although `x` did influence the result.
# (Lesson 02 says what a 0 there means, and what it does not mean.) When a gradient surprises you, draw the graph first:
# *what is missing from the picture gets no gradient*.
#
# If every thread is cut, PyTorch refuses to go back: `element 0 of tensors does not require grad and does not have a
# grad_fn`. When you meet this message one day, you know which picture to draw.

# %% [markdown] slideshow={"slide_type": "notes"}
# Nothing fails and the number is right: ask how anyone would ever notice. This course's answer: draw it.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory, and lock each answer. When all are locked you see which are right, and what a wrong answer shows.

# %% slideshow={"slide_type": "skip"}
Quiz("01_what_a_graph_is")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# The words of this lesson in PyTorch, TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "skip"}
# | | is it a leaf? | what made it | its parents | the whole graph |
# |---|---|---|---|---|
# | minigrad | `not z.parents` | `z.op` | `z.parents` | `history(z)`, `mg.draw(z)` |
# | PyTorch | `z.is_leaf` | `z.grad_fn` | `z.grad_fn.next_functions` | follow them |
# | TensorFlow | `not z.op.inputs` | `z.op.type` | `z.op.inputs` | `g.get_operations()` |
# | JAX | in `jaxpr.invars` | `eqn.primitive` | `eqn.invars` | `jax.make_jaxpr(f)(2., 3., 1.)` |
#
# PyTorch records as we did here. The TensorFlow row is about a graph `g` that exists before it runs. It has a third
# kind of leaf, the *placeholder*: an input that has no value yet. JAX's own operations leave nothing behind: when JAX
# needs the graph, it calls the function `f` with stand-ins for its numbers and writes down what happens. Lessons 09 and
# 11 do both.
#
# ### The same in PyTorch
#
# A value that is used twice is one node, and an expression that is written twice is two nodes. We follow
# `next_functions`, and count.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def count_nodes(torch):
    """
    used twice:    4 nodes
    written twice: 5 nodes
    x is a leaf: True   s is a leaf: False
    """

    def history(z):
        nodes = [z.grad_fn]
        for node in nodes:  # the list grows while the loop runs along it
            for parent, _ in node.next_functions:
                if parent not in nodes:
                    nodes.append(parent)
        return nodes

    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    s = x * y
    print("used twice:   ", len(history(s + s)), "nodes")
    print("written twice:", len(history(x * y + x * y)), "nodes")
    print("x is a leaf:", x.is_leaf, "  s is a leaf:", s.is_leaf)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A computation graph has operations, variables and constants as nodes, and data dependencies as edges.
# - Leaves are given, intermediate nodes are computed, the output is what we asked for.
# - A graph is one way to compute a function, recorded as it ran, with its sharing, branches and loops.
# - It has no cycle, so it has topological orders, often many.
#
# **Sources.** F. L. Bauer, *Computational graphs and rounding error*, SIAM Journal on Numerical Analysis 11 (1974),
# 87-96: graphs of computations, used to ask how errors travel through them. A. B. Kahn, *Topological sorting of large
# networks*, Communications of the ACM 5 (1962), 558-562. S. Tokui and others, *Chainer: a deep learning framework for
# accelerating the research cycle*, KDD 2019: define by run. A. G. Baydin and others, *Automatic differentiation in
# machine learning: a survey*, JMLR 18 (2018), section 3.
#
# **Exercise.** [01 The pieces of a scalar engine](../exercises/01_scalar_engine.ipynb): build the pieces of `mg.Value`
# yourself. An optional section of lesson 03 trains a network on them.
#
# **Next:** [02 The chain rule, backwards](02_chain_rule_backwards.ipynb) walks this graph from the output to the
# leaves, and brings every gradient along.
