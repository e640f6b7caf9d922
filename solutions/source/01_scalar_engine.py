# ---
# jupyter:
#   minigrad:
#     title: The pieces of a scalar engine
#     minutes: 30
#     lesson: 01_what_a_graph_is
#     concepts: [A1, A2, A3, A4, A5, A6]
# ---

# %% [markdown]
# # 01 The pieces of a scalar engine
#
# `mg.Value` computes with numbers and remembers where they came from. Here you build its pieces yourself: a product
# that remembers, an order to walk in, and the walk backwards. An optional section of lesson 03 trains a network on
# what you write. About 30 minutes, in three parts; three more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
from minigrad.course import check, solution

# %% [markdown]
# ## What is given
#
# A `Node` has a number, `data`. Its `parents` are pairs: a node that it was made from, and the *slope* towards that
# node, which says how much the number moves for a small nudge of the parent. A node without parents is a leaf. `add` is
# written for you.


# %% name="given"
class Node:
    def __init__(self, data, parents=()):
        self.data = data
        self.parents = parents  # pairs (node, slope)


def add(a, b):
    return Node(a.data + b.data, ((a, 1.0), (b, 1.0)))


# %% [markdown]
# ## 1. A product that remembers
#
# **2 points, 5 minutes.** Write `multiply(a, b)`. You get two nodes, and return a new one. Its number is the product.
# Its parents are `a` and `b`, in this order, each with its slope.
#
# Example: `multiply(Node(2.0), Node(7.0)).data` is 14. For the slope towards `a`, ask yourself: if b is 7 and you nudge
# a by 0.001, by how much does a · b move?


# %% answer="product" points=2 minutes=5
def multiply(a, b):
    ### BEGIN SOLUTION
    return Node(a.data * b.data, ((a, b.data), (b, a.data)))
    ### END SOLUTION


# %%
check("product")

# %% probes="product"
from minigrad.draw.picture import Arrow, Box, Picture
from minigrad.draw.words import number

a, b = Node(3.0), Node(-2.0)


def parents_of(y, *leaves):
    """Which of the leaves each parent is, by its number; None for another node."""
    return [next((i for i, leaf in enumerate(leaves) if parent is leaf), None) for parent, _ in y.parents]


def graph_of(call, y, **leaves):
    """What a call of multiply made, for drawing: its parents, each once, with the slopes on the arrows."""
    parents = [*{id(parent): parent for parent, _ in y.parents}.values()]
    names = [next((name for name, leaf in leaves.items() if parent is leaf), "") for parent in parents]
    numbers = [number(getattr(parent, "data", parent)) for parent in parents]
    kinds = ["leaf" if isinstance(parent, Node) else "constant" for parent in parents]
    rows = zip(kinds, names, numbers)
    boxes = [Box(f"b{i}", kind, name, "", "", value, "") for i, (kind, name, value) in enumerate(rows, 1)]
    arrows = [Arrow(f"a{i}", f"b{parents.index(p) + 1}", "y", number(slope)) for i, (p, slope) in enumerate(y.parents)]
    return Picture((*boxes, Box("y", "op", "y", call, "", number(y.data), "")), tuple(arrows))


# Hint: The number of the new node should be the product of both numbers.
# Graph: graph_of("multiply(a, b)", multiply(a, b), a=a, b=b)
multiply(a, b).data
multiply(Node(-1.5), Node(0.25)).data
# Hint: A slope says how much the product moves for a small nudge of that parent. Nudge a by 0.001 and b stays as it is:
# the product moves by 0.001 times the number of b.
# Graph: graph_of("multiply(a, b)", multiply(a, b), a=a, b=b)
[slope for _, slope in multiply(a, b).parents]
[slope for _, slope in multiply(Node(0.0), Node(2.5)).parents]
# Hint: The parents should be the nodes `a` and `b` themselves, in this order, not copies and not numbers.
# Graph: graph_of("multiply(a, b)", multiply(a, b), a=a, b=b)
parents_of(multiply(a, b), a, b)
# Hint: A node may be multiplied by itself: then it stands among the parents twice, each time with a slope.
# Graph: graph_of("multiply(a, a)", multiply(a, a), a=a)
[slope for _, slope in multiply(a, a).parents]
# Hint: `multiply` should leave `a` and `b` as they were.
(multiply(a, b), a.data, b.data)[1:]
# Hint: Two calls with equal numbers are still two products: each has the parents that it was called with.
parents_of(multiply(Node(3.0), Node(-2.0)), a, b)

# %% [markdown] hints="product"
# 1. Look at `add`: the pattern is the same, and only the number and the two slopes differ.
# 2. With b fixed, a · b is a straight line in a. Its slope is b. And the other way round.
# 3. The parents are `((a, b.data), (b, a.data))`.

# %% [markdown] shows="product"
# The way back needs one slope towards each parent, and it is known the moment a node computes: for a product, each
# slope is the other factor.


# %% wrong="product"
# Shows: Each factor is given its own value as its slope.
# Hint: Nudge a in a · b by 0.001: the product moves by 0.001 times b. The slope towards one factor is the value of the
# other.
def multiply(a, b):
    return Node(a.data * b.data, ((a, a.data), (b, b.data)))


# %% wrong="product"
# Shows: The slopes of a product are taken to be those of a sum.
# Hint: In a sum, a nudge arrives as large as it was: slope 1. In a product it is multiplied by the other factor.
def multiply(a, b):
    return Node(a.data * b.data, ((a, 1.0), (b, 1.0)))


# %% wrong="product"
# Shows: The product is returned as a number. A number has no `data` and no parents: it is not a node.
# Hint: Make a node of it, as `add` does: `Node(number, pairs)`.
def multiply(a, b):
    return a.data * b.data


# %% wrong="product"
# Shows: The number is right, and the node has forgotten where it came from: it is a leaf.
# Hint: Give Node its second argument, the pairs (parent, slope). Without them there is nothing to walk back along.
def multiply(a, b):
    return Node(a.data * b.data)


# %% wrong="product"
# Shows: The parents are kept as numbers, and a number does not know where it came from.
# Hint: Keep the nodes a and b themselves in the pairs, not a.data and b.data.
def multiply(a, b):
    return Node(a.data * b.data, ((a.data, b.data), (b.data, a.data)))


# %% [markdown]
# ## 2. An order to walk in
#
# **3 points, 10 minutes.** Write `order(y)`. You get a node, and return a list of y and of everything it came from.
# Each node is in the list once, and after all of its parents. If several such orders exist, any of them will do.
#
# Example: with `t = add(x, x)`, `u = multiply(t, x)` and `y = add(u, t)`, the list is `[x, t, u, y]`.
#
# Your function must also finish for a `y` that was doubled forty times: `y = add(y, y)`, and so on. A set of the nodes
# already seen helps.


# %% answer="order" points=3 minutes=10
def order(y):
    ### BEGIN SOLUTION
    placed, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent, _ in node.parents:
                visit(parent)
            placed.append(node)

    visit(y)
    return placed
    ### END SOLUTION


# %%
check("order")


# %% probes="order"
def doublings(n, x):
    y = Node(x)
    for _ in range(n):
        y = add(y, y)
    return y


def lopsided():
    """y = x + (x + (x + x)): the leaf is a parent near the end, and far from it."""
    x = Node(1.0)
    return add(x, add(x, add(x, x)))


def describe_order(y):
    """For each node of the order: its last place there, and its parents' places."""
    placed = list(order(y))
    where = {id(node): i for i, node in enumerate(placed)}
    return [[where[id(node)], [where.get(id(p)) for p, _ in node.parents]] for node in placed]


@referee
def describe_order(places):
    after = all(p is not None and p < own for own, parents in places for p in parents)
    different = len({own for own, _ in places})
    return {"nodes": len(places), "different nodes": different, "each after its parents": after}


def twins():
    """Two graphs of equal numbers, and their sum: equal numbers are not the same node."""
    return add(doublings(2, 1.0), doublings(2, 1.0))


def chain(n):
    y = Node(1.0)
    for i in range(n):
        y = add(y, Node(float(i)))
    return y


def twice_the_same_graph():
    y = lopsided()
    return [len(list(order(y))), len(list(order(y)))]


# Hint: A leaf alone: `order(y)` should be a list with y in it.
describe_order(Node(5.0))
# Hint: A sum of two leaves: three nodes, the leaves first and y last.
describe_order(add(Node(1.0), Node(2.0)))
# Hint: In y = x + x one node is used twice, and it should be in the list once.
describe_order(doublings(1, 3.0))
# Hint: In x + (x + (x + x)) x is met early and needed late. Place each node when all its parents are placed: after the
# walk to them, not before.
describe_order(lopsided())
# Hint: Equal numbers are not the same node. Remember the nodes themselves, not their numbers.
describe_order(twins())
# Hint: Zeros are numbers like any others: no node may be left out because its number is 0 or equal to another.
describe_order(add(doublings(3, 0.0), Node(0.0)))
# Hint: In a chain of 250 sums every node should be in the list, from the first leaf to y.
describe_order(chain(250))
# Hint: A second call on the same graph should give the same list. What did the first call leave behind: a set that is
# kept, or a mark on the nodes?
twice_the_same_graph()
# Hint: Forty doublings are 41 nodes, but 2 to the power 40 paths. Ask whether a node was seen before you walk to its
# parents.
describe_order(doublings(40, 3.0))

# %% [markdown] hints="order"
# 1. To place a node, first place its parents. That is a function that calls itself.
# 2. Before you visit a node, ask whether it was visited before; if so, there is nothing to do.
# 3. `visit(node)`: if it is not in `seen`, add it, visit each parent, and only then append the node to the list.

# %% [markdown] shows="order"
# A walk that remembers what it has seen follows each arrow once, however many paths there are; such a list is called
# a topological order.


# %% wrong="order" misconception="M9"
# Shows: Every path is walked, not every node: a node that is used twice is placed twice, and forty doublings have 2 to
# the power 40 paths.
# Hint: Many believe that recursion without an order is only slower. Here it never ends; and a walk back over this list
# would be wrong, too. Keep a set of the nodes already seen, and return at once when you come to one of them again.
def order(y):
    placed = []
    for parent, _ in y.parents:
        placed += order(parent)
    return placed + [y]


# %% wrong="order"
# Shows: Each node is placed once, and yet every path is walked: forty doublings have 2 to the power 40 of them. It
# would end, some day.
# Hint: Only after the walk to its parents do you ask whether a node was seen. Ask first, and
# return at once if it was.
def order(y):
    placed = []

    def visit(node):
        for parent, _ in node.parents:
            visit(parent)
        if node not in placed:
            placed.append(node)

    visit(y)
    return placed


# %% wrong="order"
# Shows: The list runs from the result to the leaves: each node stands before its parents.
# Hint: Place a node when you leave it: append it after the loop over its parents, and return the list as it is.
def order(y):
    placed, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent, _ in node.parents:
                visit(parent)
            placed.append(node)

    visit(y)
    return placed[::-1]


# %% wrong="order"
# Shows: A node is placed when it is first met, before its parents, and turning the list round does not repair that
# where one parent is met early and needed late.
# Hint: Place a node when you leave it, not when you enter it: append after the loop over its parents.
def order(y):
    placed, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            placed.append(node)
            for parent, _ in node.parents:
                visit(parent)

    visit(y)
    return placed[::-1]


# %% wrong="order"
# Shows: The first call is right, and a second one on the same graph finds nothing: it still has the set of the first.
# Hint: A default such as `seen=set()` is made once, when the function is defined. Make the set inside `order`, so that
# each call begins with an empty one; a function inside it may do the visiting.
def order(y, seen=set()):  # noqa: B006
    if y in seen:
        return []
    seen.add(y)
    placed = []
    for parent, _ in y.parents:
        placed += order(parent, seen)
    return placed + [y]


# %% wrong="order"
# Shows: Nodes are told apart by their numbers, and two nodes may have the same number: one of them is left out.
# Hint: Put the node itself into `seen`, not `node.data`. Two leaves that are both 2.0 are two leaves.
def order(y):
    placed, seen = [], set()

    def visit(node):
        if node.data not in seen:
            seen.add(node.data)
            for parent, _ in node.parents:
                visit(parent)
            placed.append(node)

    visit(y)
    return placed


# %% wrong="order"
# Shows: The walk stops after a number of steps, and a long chain goes further: its beginning is missing.
# Hint: No number of steps is enough for all graphs. What ends the walk is a leaf, which has no parents.
def order(y):
    placed, seen = [], set()

    def visit(node, deep=0):
        if node not in seen and deep < 100:
            seen.add(node)
            for parent, _ in node.parents:
                visit(parent, deep + 1)
            placed.append(node)

    visit(y)
    return placed


# %% wrong="order"
# Shows: Only the result and its own parents are there; what those were made from is missing.
# Hint: A parent has parents too: the function has to call itself for each of them.
def order(y):
    return [*dict.fromkeys(parent for parent, _ in y.parents), y]


# %% [markdown]
# ## 3. The walk backwards
#
# **2 points, 12 minutes.** Write `gradients(y)`. You get a node, and return a dictionary. Its keys are all nodes in
# `order(y)`. The value of a node says how much y moves for a small nudge of that node: its *gradient*.
#
# - y moves by 1 for a nudge of 1 of itself, so its gradient is 1.
# - Go through `order(y)` from its end to its start.
# - At each node, every parent gets the gradient of the node times the slope towards that parent.
# - A parent may get several such pieces. Its gradient is their sum.
#
# Example: for `y = multiply(a, b)` with the numbers 2 and 7, the gradients are 1 for y, 7 for a and 2 for b. (Lesson 02
# explains why this works. You can write it now.)


# %% answer="gradients" points=2 minutes=12
def gradients(y):
    ### BEGIN SOLUTION
    grad = dict.fromkeys(order(y), 0.0)
    grad[y] = 1.0
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            grad[parent] += grad[node] * slope
    return grad
    ### END SOLUTION


# %%
check("gradients")


# %% probes="gradients"
from minigrad.draw.picture import Arrow, Box, Picture
from minigrad.draw.words import number


def product(a, b):
    return Node(a.data * b.data, ((a, b.data), (b, a.data)))


x, w = Node(3.0), Node(-2.0)
line = add(product(x, w), w)
chain = product(product(x, w), Node(5.0))
square = product(x, x)
t = add(x, w)
kite = product(t, add(t, x))
tower = x
for _ in range(10):
    tower = add(tower, tower)
twin = Node(2.0)
tall = x
for _ in range(100):
    tall = add(tall, w)


def towards(y, *nodes):
    return [gradients(y)[node] for node in nodes]


def graph_of(y, **names):
    """The graph of y with the gradients, for drawing. A missing gradient is drawn as a dot."""
    found, order, seen = gradients(y), [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for parent, _ in node.parents:
                visit(parent)
            order.append(node)

    visit(y)
    boxes, arrows, place = [], [], {id(node): f"b{i}" for i, node in enumerate(order, 1)}
    for node in order:
        kind, sums = "op" if node.parents else "leaf", all(slope == 1.0 for _, slope in node.parents)
        name = next((name for name, named in names.items() if node is named), "")
        op, grad = ("+" if sums else "×") * bool(node.parents), number(found[node]) if node in found else "·"
        boxes.append(Box(place[id(node)], kind, name, op, "", number(node.data), grad))
        arrows += [(place[id(parent)], place[id(node)]) for parent, _ in node.parents]
    return Picture(tuple(boxes), tuple(Arrow(f"a{i}", *ends) for i, ends in enumerate(arrows, 1)))


# Hint: y itself moves by 1 for a nudge of 1: its gradient is 1.0.
# Graph: graph_of(x, x=x)
towards(x, x)
# Hint: In x · w + w two arrows leave w. What each of them brings is added.
# Graph: graph_of(line, x=x, w=w)
towards(line, x, w)
# Hint: Along a chain the slopes multiply: pass on the node's own gradient times the slope.
# Graph: graph_of(chain, x=x, w=w)
towards(chain, x, w)
# Hint: In x · x both arrows lead to the same node, and each brings a piece.
# Graph: graph_of(square, x=x)
towards(square, x)
# Hint: A node passes its gradient on only when all its pieces have arrived. Go through `order(y)` from its end.
# Graph: graph_of(kite, x=x, w=w, t=t)
towards(kite, x, w, t)
# Hint: Ten doublings: the gradient of x is 2 to the power 10.
# Graph: graph_of(tower, x=x)
towards(tower, x)
# Hint: Two nodes with equal numbers have two gradients. Keep the gradients by node, not by number.
towards(add(product(Node(2.0), Node(2.0)), twin), twin)
# Hint: A hundred sums in a row: every node needs its turn, and w gets a piece from each sum.
# Graph: graph_of(tall, x=x, w=w)
towards(tall, x, w)
# Hint: A second call on the same graph should give the same gradients: start again from 0.
[towards(line, x, w) for _ in range(2)]
# Hint: Every node of the graph is a key of the dictionary, those between the leaves and y included.
[len(gradients(y)) for y in (x, line, chain)]

# %% [markdown] hints="gradients"
# 1. Begin with a dictionary in which y has 1.0 and every other node 0.0.
# 2. Go through `reversed(order(y))`: then a node's gradient is complete before it is passed on.
# 3. In the inner loop: `grad[parent] += grad[node] * slope`.

# %% [markdown] shows="gradients"
# These few lines are backpropagation: one visit to each node gives the gradients of all leaves, so a million leaves
# take one walk and not a million.


# %% wrong="gradients" misconception="M1"
# Shows: A node that is used twice keeps only the last of its two pieces: it was written with `=`, and not added.
# Hint: It is easy to believe that a gradient may be written with = because there is one for each node. But one piece
# comes along each arrow: in y = x + x both bring 1, and x must get 2. Use += where a parent receives its piece.
def gradients(y):
    grad = {y: 1.0}
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            grad[parent] = grad[node] * slope
    return grad


# %% wrong="gradients"
# Shows: Every gradient is 0: nothing was put in at the start, and nothing times any slope is nothing.
# Hint: y moves by 1 for a nudge of 1 of itself. Set grad[y] = 1.0 before the walk.
def gradients(y):
    grad = dict.fromkeys(order(y), 0.0)
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            grad[parent] += grad[node] * slope
    return grad


# %% wrong="gradients"
# Shows: Only y has an entry at the start, and `+=` needs a number to add to: a parent has none yet.
# Hint: Begin with 0.0 for every node in order(y). Then set the entry of y to 1.0.
def gradients(y):
    grad = {y: 1.0}
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            grad[parent] += grad[node] * slope
    return grad


# %% wrong="gradients"
# Shows: Only the slope is passed on. The chain rule multiplies it by the gradient that has arrived so far.
# Hint: What a parent gets is grad[node] * slope, not slope alone.
def gradients(y):
    grad = dict.fromkeys(order(y), 0.0)
    grad[y] = 1.0
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            grad[parent] += slope
    return grad


# %% wrong="gradients"
# Shows: The walk goes from the leaves to y: the nodes pass on what they have not received yet.
# Hint: Go through reversed(order(y)): y first, and the leaves last.
def gradients(y):
    grad = dict.fromkeys(order(y), 0.0)
    grad[y] = 1.0
    for node in order(y):
        for parent, slope in node.parents:
            grad[parent] += grad[node] * slope
    return grad


# %% wrong="gradients"
# Shows: A node passes its gradient on each time a piece arrives, and so passes the earlier pieces on again.
# Hint: Walk along order(y), backwards, once: by the time you come to a node, all of its pieces have arrived.
def gradients(y):
    grad = dict.fromkeys(order(y), 0.0)
    grad[y] = 1.0

    def pass_on(node):
        for parent, slope in node.parents:
            grad[parent] += grad[node] * slope
            pass_on(parent)

    pass_on(y)
    return grad


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. How much an order saves
#
# **1 point, 4 minutes.** Begin with `y = x`, and write `y = add(y, y)` ten times. A walk from y back to x *without* a
# memory follows every path.
#
# - `times_at_x`: how often does that walk come to x?
# - `nodes`: how many nodes does the graph have, x and y included?

# %% answer="visits" points=1 minutes=4
### BEGIN SOLUTION
times_at_x = 2**10
nodes = 11
### END SOLUTION

# %%
check("visits")

# %% probes="visits"
# Hint: `times_at_x`: each of the ten steps offers two ways to the node before it, so the ways multiply.
times_at_x
# Hint: `nodes`: each call of `add` makes one node, and x is a node, too.
nodes

# %% [markdown] hints="visits"
# 1. Draw three of them. How many ways lead from the last one back to x?
# 2. Each node offers two ways to the one before it; the ways multiply. Each `add` makes one node.

# %% [markdown] shows="visits"
# Paths double at each step while nodes grow by one: after forty steps a walk without a memory would come to x more
# than 10¹² times.

# %% wrong="visits"
# Shows: Twenty is the number of edges. The walk goes along an edge again each time it comes to the node above.
# Hint: Two ways from the last node, and from each of their ends two more: the ways multiply, they do not add.
times_at_x = 20
nodes = 11

# %% wrong="visits"
# Shows: Ten is how often `add` was called. Without a memory, the walk does not know that it has been somewhere.
# Hint: Draw two doublings and count the paths from top to bottom with a pencil. Then three.
times_at_x = 10
nodes = 11

# %% wrong="visits"
# Shows: 2047 is the number of visits to all nodes together.
# Hint: The question is about visits to x alone: each of the ten steps doubles the ways.
times_at_x = 2047
nodes = 11

# %% wrong="visits"
# Shows: The paths are right. The ten sums are ten nodes, and x is a node as well.
# Hint: Count the leaf too.
times_at_x = 1024
nodes = 10

# %% wrong="visits"
# Shows: Each doubling is drawn as two nodes; but `add(y, y)` makes one node, with two edges to the
# same y.
# Hint: Count the calls of Node, one for the leaf and one for each sum.
times_at_x = 1024
nodes = 21

# %% [markdown]
# ### 5. What a zero says
#
# **1 point, 3 minutes.** You build `y = x * x` from `x = mg.Value(3.0)`. You run nothing else, and look at `x.grad`: it
# is 0. What does that say? Set `zero_says` to one small letter in quotation marks.
#
# - **a** x has no influence on y
# - **b** no backward pass has arrived at x yet
# - **c** the slope of y is 0 as long as x stays at 3
# - **d** the engine cannot differentiate x * x

# %% answer="zero" points=1 minutes=3
### BEGIN SOLUTION
zero_says = "b"
### END SOLUTION

# %%
check("zero")

# %% probes="zero"
# Hint: `zero_says`: run it, and look at x.grad before and after `y.backward()`. Answer with one small letter in
# quotation marks.
zero_says

# %% [markdown] hints="zero"
# 1. Type it in: build y, look at x.grad, call y.backward(), and look again.
# 2. `zero_says` is one small letter in quotes: "a", "b", "c" or "d".

# %% [markdown] shows="zero"
# A gradient is what a backward pass leaves behind: before a pass has arrived, `.grad` says nothing about the slope.

# %% wrong="zero" misconception="M4"
# Shows: The 0 is read as "no influence". But x at 3 moves y by 6 times a nudge.
# Hint: A gradient of 0 means no influence only after a backward pass. Before, it means that nobody has asked: every
# .grad starts as 0. Look at x.grad again after y.backward().
zero_says = "a"

# %% wrong="zero"
# Shows: A slope does not wait for x to move: it says what a nudge would do, and at 3 that is 6 times the nudge.
# Hint: The 0 was there before the product was built. Which call would have changed it?
zero_says = "c"

# %% wrong="zero"
# Shows: Where the engine cannot differentiate, it says so with an error. It leaves no 0 behind.
# Hint: Call y.backward(), and look at x.grad again.
zero_says = "d"

# %% [markdown]
# ### 6. A graph of your own
#
# **1 point, 6 minutes.** Write `mine(a, b)`. You get two leaves, and return a Node that you build with `add`, and with
# `subtract` of the next cell. The formula is up to you, but its graph must have these four properties:
#
# - its leaves are `a` and `b`, both of them, and no other;
# - it has exactly eight arrows; drawn with the operations *on the edges*, these are eight symbols;
# - a node that is *not* a leaf is used twice: two arrows leave it;
# - nothing is written twice: no two nodes are the same operation on the same parents.
#
# Draw it on paper first.


# %% name="subtract"
def subtract(a, b):
    return Node(a.data - b.data, ((a, 1.0), (b, -1.0)))


# %% answer="eight_signs" points=1 minutes=6
def mine(a, b):
    ### BEGIN SOLUTION
    t = subtract(a, b)
    return subtract(add(t, a), add(t, b))
    ### END SOLUTION


# %%
check("eight_signs")


# %% probes="eight_signs"
from minigrad.draw.picture import Arrow, Box, Picture
from minigrad.draw.words import number


def graph_of(*numbers):
    """Where a and b are among the nodes, and for each node its number, and its parents' places and slopes."""
    given = [Node(number) for number in numbers]
    nodes, waiting = {}, [mine(*given)]
    while waiting:
        node = waiting.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            waiting += [parent for parent, _ in node.parents]
    place = {number: i for i, number in enumerate(nodes)}
    rows = [[node.data, [[place[id(p)], slope] for p, slope in node.parents]] for node in nodes.values()]
    return [place.get(id(one)) for one in given], rows


properties = made_of_sums_and_differences = graph_of


def own_graph():
    """The graph for drawing; a leaf that is neither a nor b, or else an operation that stands twice, is marked."""
    (a, b), rows = graph_of(2.0, -3.5)
    order = [i for i, row in enumerate(rows) if not row[1]]
    while rest := [i for i in range(len(rows)) if i not in order]:
        order += [i for i in rest if all(p in order for p, _ in rows[i][1])]
    signs = ["" if not parents else "+" if parents[-1][1] == 1.0 else "−" for _, parents in rows]
    names = {a: "a", b: "b"}
    kinds = ["op" if sign else "leaf" for sign in signs]
    boxes = [Box(f"b{i}", kinds[i], names.get(i, ""), signs[i], "", number(rows[i][0]), "") for i in order]
    ends = [(f"b{p}", f"b{i}") for i in order for p, _ in rows[i][1]]
    picture = Picture(tuple(boxes), tuple(Arrow(f"a{i}", *both) for i, both in enumerate(ends, 1)), ("b0",))
    for i in order:
        if not rows[i][1] and i not in (a, b):
            return picture, f"b{i}", "The marked leaf is neither `a` nor `b`."
        if rows[i][1] and any(rows[j][1] == rows[i][1] for j in order[: order.index(i)]):
            return picture, f"b{i}", "The marked operation is written twice: it reads the same two nodes as another."
    return picture


def operation(parents):
    (p, dp), (q, dq) = parents
    return ("+", *sorted((p, q))) if (dp, dq) == (1.0, 1.0) else ("-", p, q)


@referee
def properties(graph):
    given, rows = graph
    leaves = [i for i, (_, parents) in enumerate(rows) if not parents]
    inner = [(i, parents) for i, (_, parents) in enumerate(rows) if parents]
    arrows = [p for _, parents in inner for p, _ in parents]
    made = [operation(parents) for _, parents in inner]
    return {
        "a and b are its leaves": all(one in leaves for one in given),
        "other leaves": sum(leaf not in given for leaf in leaves),
        "symbols on the edges": len(arrows),
        "a node that is no leaf is used twice": any(arrows.count(i) > 1 for i, _ in inner),
        "nodes written twice": sum(made.count(one) > 1 for one in made),
    }


@referee
def made_of_sums_and_differences(graph):
    rows = graph[1]

    def fits(number, parents):
        (p, dp), (q, dq) = parents
        return (dp, dq) in ((1.0, 1.0), (1.0, -1.0)) and number == rows[p][0] + dq * rows[q][0]

    return all(fits(*row) for row in rows if row[1])


# Hint: Each node's number should be the sum or the difference of its parents' numbers: use `add` and `subtract` only.
made_of_sums_and_differences(2.0, -3.5)
# Hint: The properties are listed by name. Count the arrows of your graph: each operation has two, and each has
# its symbol.
# Own graph: own_graph()
properties(2.0, -3.5)
# Hint: The graph should have the same shape for all numbers a and b.
properties(0.5, 4.0)

# %% [markdown] hints="eight_signs"
# 1. Each of your operations has two operands. With operations on the edges, how often is each symbol written? How many
# operations make eight symbols?
# 2. Give a difference a name, such as `t = subtract(a, b)`, and use t in two places. One node, two arrows.
# 3. Four operations: t, one that uses t and a, one that uses t and b, and one that joins these two.

# %% [markdown] shows="eight_signs"
# A graph says more than its formula: it also says which results are shared, and each further use of a node is one
# more arrow.


# %% wrong="eight_signs"
# Shows: There are eight operations, and so sixteen symbols: on the edges each symbol is written once for each operand.
# Hint: Count arrows, not operations. A sum of two has two edges, and its + stands on both.
def mine(a, b):
    t = subtract(a, b)
    u = subtract(t, t)
    for leaf in (a, b, a, b, a, b):
        u = add(u, leaf)
    return u


# %% wrong="eight_signs"
# Shows: Only leaves are used twice. Every node between them and the output has one arrow leaving it.
# Hint: Keep an intermediate result under a name, and use that name in two places.
def mine(a, b):
    return add(subtract(add(subtract(a, b), a), b), a)


# %% wrong="eight_signs"
# Shows: An operation is written twice, and so there are two nodes for it, each with one arrow leaving it.
# Hint: The graph knows objects, not formulas. Compute it once, give it a name, and use the name twice.
def mine(a, b):
    return add(add(subtract(a, b), subtract(a, b)), a)


# %% wrong="eight_signs"
# Shows: There is a leaf that nobody gave: a number made into a Node of its own.
# Hint: Only a and b may be leaves. Instead of adding a constant, combine what is there.
def mine(a, b):
    t = subtract(a, b)
    return add(subtract(add(t, Node(2.0)), t), b)


# %% wrong="eight_signs"
# Shows: The graph is too small: two operations, four symbols.
# Hint: Each operation has two edges, so it takes four of them. You may use t once more.
def mine(a, b):
    t = subtract(a, b)
    return add(t, t)


# %% [markdown]
# ## What you have now
#
# A few lines that differentiate anything built from such nodes. Compare them with `minigrad/scalar/value.py`, which
# does the same for more operations, and with a walk that does not call itself.
#
# **Next**: [02 The chain rule, backwards](../lessons/02_chain_rule_backwards.ipynb).
