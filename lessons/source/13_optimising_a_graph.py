# ---
# jupyter:
#   minigrad:
#     title: Optimising a graph
#     minutes: 50
#     objectives:
#       - name what a compiler takes out of a graph, and count it before and after
#       - write a pass of your own, a function from graph to graph
#       - say which identities of algebra hold for floats, and find the number at which another one fails
#       - count the bytes that fusion saves, and say when fewer bytes are less time
#     concepts: [D1, D2]
#     builds_on: [07_tapes_and_transforms, 11_tracing]
#     widgets: [PassViewer, Roofline, Predict, Quiz]
#     terms:
#       dead node: a node on which no result depends
#       pass: a function from a graph to a graph that computes the same
#       common subexpression: an operation that stands in a graph twice, on the same operands
#       constant folding: computing in advance, once, what depends on no input
#       rewrite rule: one identity of algebra, used from left to right on any node that fits
#       fusion: making one operation out of several, so that their intermediate results never go through memory
#       epilogue: elementwise operations done on the result of a matrix product while it is still close at hand
#       processor cache: a small and fast memory next to the processor, which holds what was used last
#       launch: the start of one kernel, a small program, on a device
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 13 Optimising a graph
#
# A network reads a name of twelve letters, and we ask for its gradient. The graph has 227 operations. The compiler of
# this lesson computes the same numbers, to the last bit, with 128. Where did the others go? Some were there twice. Some
# multiplied by 1. Some became part of a neighbour. And there is one rule that the compiler could have used as well, and
# that everybody learns at school: a number times 0 is 0. It refuses, because that rule would hide a bug from you.
#
# In eager mode none of this is possible, since each operation has run before Python reads the next line. A traced
# function, however, is there as a whole before a single number flows. **What can you see in a whole graph that you
# cannot see one operation at a time, and what is it worth?**
#
# **About 50 minutes.** Afterwards you can
#
# - name what a compiler takes out of a graph, and count it before and after;
# - write a pass of your own, a function from graph to graph;
# - say which identities of algebra hold for floats, and find the number at which another one fails;
# - count the bytes that fusion saves, and say when fewer bytes are less time.
#
# **Builds on** [07 Tapes and transforms](07_tapes_and_transforms.ipynb) and [11 Tracing](11_tracing.ipynb). What it
# opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): *gelu*; the whole, written down
# beforehand.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask what the room would change in the function below before running it. Collect the answers on the board:
# each of them will turn out to be a pass with a name.

# %% slideshow={"slide_type": "skip"}
import math

import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, in_turns, reveal, reveal_range
from minigrad.widgets import PassViewer, Roofline


def graph_of(f, *args):
    """The graph that f computes for these arguments."""
    return mg.function(f).graph_for(*args)


def count_operations(graph):
    """The number of nodes that compute something, without leaves and constants."""
    return sum(bool(node.inputs) for node in graph.nodes)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What nobody asked for
#
# If you run `careless` eagerly, it does seven operations. A graph contains only what can be reached from its outputs,
# walking back along the arrows. How many operations are in the graph of what `careless` returns?


# %%
def careless(x):
    left = (x * 2).exp()
    (x * 3).tanh()
    right = (x * 2).exp()
    return left + right


Predict("ops in the graph", "How many operations are in the graph of what careless returns?")


# %%
x = mg.tensor(np.linspace(-2, 2, 1000))
graph = graph_of(careless, x)
reveal("ops in the graph", count_operations(graph))

# %% [markdown]
# Five. The tanh and its product are missing. Each of them would be a **dead node**: no result depends on it, so we
# never reach it on the way back, and there is nothing to take out. For the same reason a session (lesson 09) does not
# run such nodes.

# %%
mg.draw(graph)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Written twice
#
# A **pass** is a function from a graph to a graph that computes the same. The passes of minigrad are in `mg.compiler`,
# and the first one is called `share`. It looks for a **common subexpression**: an operation that is there twice, on the
# same operands. How many of the five operations are left after `share`?

# %%
Predict("ops after share", "How many of the five operations are left after share?")

# %%
shared = mg.compiler.share(graph)
reveal("ops after share", count_operations(shared))

# %% [markdown]
# Three. `share` starts at the inputs. Both products read x and a 2, so they become one. *Then* both exp read the same
# node, so they become one, too. For this a compiler needs only a table that leads from (operation, operands) to the
# node that has them. (The order of operands counts, except for + and ×. And two calls of `mg.rand` are not shared,
# although they look alike: each has an effect, because it moves the generator on.)

# %%
mg.draw(shared)

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes up to here. If somebody asks why Python does not do this itself: `x * 2` calls a method that may do
# anything. Here an operation is data, so it can be compared.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Known before the run
#
# `fading` weights eight numbers: each weight is half of the one before, and together they make 1. The weights depend on
# no input. **Constant folding** computes such things once, when the graph is compiled, and never again.
# (`mg.constant(…)` makes a node of the graph that has the same value at every run.) The second function, `fading_too`,
# reads `steps_back`, a tensor from outside. How many of *its* five operations does folding take out?

# %%
steps_back = mg.tensor(np.arange(8.0))


def fading(x):
    weights = mg.constant(0.5) ** mg.constant(np.arange(8.0))
    return (x * (weights / weights.sum())).sum()


def fading_too(x):
    weights = 0.5**steps_back
    return (x * (weights / weights.sum())).sum()


Predict("folded of fading_too", "How many operations does folding take out of fading_too?")

# %%
counts = {}
for f in (fading, fading_too):
    graph = graph_of(f, mg.ones(8))
    counts[f.__name__] = count_operations(graph), count_operations(mg.compiler.fold(graph))
before, after = counts["fading_too"]
reveal("folded of fading_too", before - after)

# %%
for name, (before, after) in counts.items():
    print(f"{name:11} {before} operations, after fold {after}")

# %% [markdown]
# None. A tensor from outside is *read at each run*: that is how parameters can change while the graph stays (lesson
# 11). So the value that it has today must not be built in. The compiler folds only what you *declare* to be constant.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who writes `x * 1`?
#
# Nobody does. But rules do. A derivative rule is written for all cases and knows nothing about yours: the rule for
# a + b multiplies the gradient by 1 and sends it on. Here is the gradient of the name network of lesson 08, as the
# rules wrote it. The network reads a name letter by letter, and says which language it comes from. We take the three
# letters of *yui*, and look for the lines of the graph that multiply by 1. (The letters are Python numbers, so the loop
# is unrolled. `mg.func.grad(f)` is the function that computes the gradient of f.)

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
start = [mg.tensor(rng.normal(0, 0.2, shape)) for shape in ((26, 24), (24, 24), (24, 7))]


def gradient_of(name, language):
    """The graph of the gradient, with respect to the weights, of how wrong the network is about this name."""

    def loss(E, W, V):
        state = mg.zeros(1, 24)
        for letter in name:
            state = (E[LETTERS.index(letter)] + state @ W).tanh()
        return -(state @ V).log_softmax(-1)[0, names.languages.index(language)]

    return graph_of(mg.func.grad(loss, argnums=(0, 1, 2)), *start)


yui = gradient_of("yui", "Japanese")
print(*(line for line in mg.draw(yui).text.splitlines() if "× 1 =" in line), sep="\n")
first, *_, last = mg.compiler.steps(gradient_of("sopuruchukwu", "Igbo"))
print(f"\nfor the 12 letters of sopuruchukwu: {first.nodes} operations, after all passes {last.nodes}")
mg.compiler.steps(yui)

# %% [markdown]
# There they are. Below them is a table for *yui*, with a row for each pass that changed something; *nodes* counts its
# operations. *simplify* takes out the products with 1. *transposes* moves transposes out of the way of other passes.
# *fuse* is coming up below. *Bytes moved* is what all operations read and write, and *peak bytes* is the most that is
# alive at once, which lesson 14 is about. (The peak rises at *fuse*. The gradient of W is a sum of three, one for each
# letter. They were added one by one; now one loop adds all three, and it can start only when all three are there. The
# last line lists passes that had nothing to do here.)
#
# Most of what a compiler finds was not written by a human.
#
# Simplifying works by rules. A **rewrite rule** is one identity of algebra, used from left to right: x · 1 → x,
# x² → x·x, two transposes → none. Each rule looks at one node, and returns a better one or nothing.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A pass of your own: x · 1 → x
#
# `graph.rebuild(make)` goes through all nodes, inputs first. For each node it asks `make(node, inputs)` what to put in
# its place, where `inputs` are the operands *after* the pass has been through them. That is all you need to write a
# pass.


# %%
ops, Node = mg.ops, mg.compiler.Node


def without_ones(graph):
    """x · 1 → x and 1 · x → x"""

    def make(node, inputs):
        match node.op, inputs:
            case ops.Mul(), (x, Node(ops.Const(1))) | (Node(ops.Const(1)), x) if x.spec == node.spec:
                return x
        return node.with_inputs(inputs)

    return graph.rebuild(make)


# %% [markdown]
# Python's `match` reads like the rule: a product whose operands are some x and the constant 1. The spec, which is shape
# and dtype, must stay what it was: an integer times 1.0 is a float. We run the pass on the gradient for *yui*. (The
# first state is an input as well, because the trace captured it, as lesson 11 says.)

# %%
after = without_ones(yui)
print(count_operations(yui), "operations, then", count_operations(after))
arrays = [*(weight.numpy() for weight in start), np.zeros((1, 24))]
pairs = zip(mg.compiler.interpret(yui, *arrays), mg.compiler.interpret(after, *arrays))
print("the same to the last bit:", all(np.array_equal(a, b) for a, b in pairs))

# %% [markdown]
# Seven operations are gone: the six in the list above, and a 1 × (−1) where the gradient starts. `interpret` runs any
# graph, node by node. It is the referee for everybody who writes passes, so ask it every time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let the room write `case ops.Neg(), (Node(ops.Neg(), (x,)),)` for −(−x). A frequent slip is to match on
# node.inputs. Those are the operands before the pass, and then −(−(−(−x))) loses only one pair.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which rules are true?
#
# What is true of numbers need not be true of *floats*. Floats have a largest and a smallest number, two zeros,
# infinity, and NaN (*not a number*), which is not even equal to itself. Below are nine rules and seven floats. We
# count NaN as equal to NaN, and 0 and −0 as different, because 1/0 is ∞ and 1/−0 is −∞. How many of the nine rules
# hold for all seven floats?


# %%
def minus(x):
    return -x


RULES = {  # the rule, as text: (what is written, what would be computed)
    "x + 0 → x": (lambda x: x + 0.0, lambda x: x),
    "x · 1 → x": (lambda x: x * 1.0, lambda x: x),
    "x · 0 → 0": (lambda x: x * 0.0, np.zeros_like),
    "x − x → 0": (lambda x: x - x, np.zeros_like),
    "x / x → 1": (lambda x: x / x, np.ones_like),
    "−(−x) → x": (lambda x: minus(minus(x)), lambda x: x),
    "x / 4 → x · ¼": (lambda x: x / 4.0, lambda x: x * 0.25),
    "x / 3 → x · ⅓": (lambda x: x / 3.0, lambda x: x * (1 / 3)),
    "x + 1 + −1 → x": (lambda x: x + 1.0 + -1.0, lambda x: x),
}
FLOATS = np.array([0.0, -0.0, 0.1, 7.0, 1e300, np.inf, np.nan])


def are_same(a, b):
    """Whether two arrays have the same floats, with NaN equal to NaN and 0 different from −0."""
    return (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)


Predict("rules that hold", "How many of the nine rules hold for all seven floats?")

# %%
with np.errstate(all="ignore"):
    fails = {rule: FLOATS[~are_same(left(FLOATS), right(FLOATS))] for rule, (left, right) in RULES.items()}
reveal("rules that hold", sum(len(floats) == 0 for floats in fails.values()))

# %%
for rule, floats in fails.items():
    print(f"{rule:16} {'fails at ' + ', '.join(map(str, floats)) if len(floats) else 'holds'}")

# %% [markdown]
# Only three. Even x + 0 is not always x, because −0 + 0 is 0. x / 4 is safe: a quarter is a power of two, and only
# shifts the exponent. A third is not even a float.
#
# ### The rules that minigrad uses
#
# And which rules does minigrad use? `STANDARD`, the passes of `mg.function`, has only rules that hold. `FAST`, the
# passes of `mg.function(f, jit_compile=True)`, also has some that are off by a rounding or by the sign of a 0. Are
# there rules that even `FAST` refuses?


# %%
def is_simplified(passes, f):
    """Whether a rule of these passes applies to f."""
    return any(step.changed for step in mg.compiler.steps(graph_of(f, x), passes) if step.name == "simplify")


for rule, (left, _) in RULES.items():
    standard, fast = (is_simplified(passes, left) for passes in (mg.compiler.STANDARD, mg.compiler.FAST))
    print(f"{rule:16} {'STANDARD and FAST' if standard else 'FAST alone' if fast else 'neither'}")

# %% [markdown]
# x · 0 → 0, x − x → 0 and x / x → 1 are in neither. They are not off by a little: they *remove a NaN*. Suppose that a
# bug makes NaN, and that your loss multiplies it by 0. The true result is NaN, and you would go and look for the bug.
# With `x * 0` simplified to 0 the loss looks healthy, and the compiler has hidden the bug from you. And x / x? At x = 0
# it is NaN: the rule would answer a question that has no answer.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes, the heart of the lesson. Before the reveal let two people argue about x + 0. The answer, −0 + 0 = 0,
# surprises nearly everybody. (a + b) − a is the same trap as x + 1 + −1: for large a nothing of b is left.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: moves that move nothing, and the pass that you wrote

# %% [markdown] slideshow={"slide_type": "skip"}
# A transpose copies nothing: it reads the same memory the other way round. But it is in the way of other passes. The
# pass `transposes` moves transposes past elementwise operations until two of them meet, or until a matrix product takes
# one in. The lesson goes on without it.


# %% slideshow={"slide_type": "skip"}
def transpose_and_back(x, y):
    return (x.T * 2.0 + y.T).T


crossed = graph_of(transpose_and_back, mg.ones(10, 20), mg.ones(10, 20))
mg.draw(crossed)

# %% slideshow={"slide_type": "skip"}
print(count_operations(crossed), "operations, then", count_operations(mg.compiler.transposes(crossed)))
mg.draw(mg.compiler.transposes(crossed))

# %% [markdown] slideshow={"slide_type": "skip"}
# #### The pass that you wrote
#
# Come back here after exercise 13, whose last part asks for a pass of your own and an example for it: this cell runs
# yours. Until `check` has passed it, the course's pass runs here. It turns ||x|| and |−x| into |x|.

# %% slideshow={"slide_type": "skip"}
from minigrad.course.mine import mine

my_pass, example = mine("13", "my_pass"), mine("13", "example")
own_graph = graph_of(example, x)
print(f"{count_operations(own_graph)} operations before the pass, {count_operations(my_pass(own_graph))} after it")
mg.draw(my_pass(own_graph))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All passes, one at a time
#
# Now it is your turn. Change `my_function`, keep it under sixty boxes, and step through the passes. A dashed box will
# be taken out, and a blue one has been put in. Before each step, say which boxes will go.


# %% tags=["measured", "nbval-ignore-output"]
def my_function(x, W, b):
    scores = ((x @ W + b) / 4).T.T
    return (scores.tanh() * 1 + scores.tanh() * (mg.constant(6.0) / 3)).sum()


PassViewer(mg.function(my_function), mg.ones(32, 64), mg.ones(64, 16), mg.ones(16))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fusion: fewer passes over memory
#
# `chain` does three elementwise operations on 1000 numbers of 8 bytes each. If they run one after the other, each reads
# its operands from memory and writes its result to memory, and the next one reads that result again. How many bytes
# does this move? Count the 2 and the 1 as well: each of them is 8 bytes that are read once.


# %%
def chain(x):
    return (x * 2 + 1).tanh()


Predict("bytes of the chain", "How many bytes do the three operations read and write?", unit="bytes")

# %%
links = graph_of(chain, x)
fused = mg.compiler.fuse(links)
display(reveal("bytes of the chain", mg.compiler.bytes_moved(links)))
for name, version in (("as written", links), ("fused", fused)):
    print(f"{name:10} operations: {count_operations(version)}, bytes: {mg.compiler.bytes_moved(version):,}")

# %% [markdown]
# Three times 8,000 in and 8,000 out, and two numbers. **Fusion** makes one loop out of the three: take an element, do
# everything to it, write it, and take the next. x is read once, and the result is written once. The results in between
# never see memory, and the 2 and the 1 stand in the loop itself. The longer the chain, the more there is to save. On a
# GPU each loop is a **launch**, a small program that is started, and starting takes time too: one launch, not three.
#
# ### Longer chains
#
# gelu, the activation of many language models, is such a chain, of eight operations. A matrix product is not
# elementwise, so it ends a chain. But its result is still close at hand when it has just been computed, and what
# follows can be done to it right there. Bias and activation are its **epilogue**. Here are gelu, one letter of the
# name network for 64 names at once, and a layer whose product is a convolution, which slides a few weights along its
# input, each before and after all passes:


# %%
def gelu(x):
    return 0.5 * x * (1 + mg.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def letter(push, state, W):
    return (push + state @ W).tanh()


def convolution_layer(images, W, b):
    return gelu(mg.nn.functional.conv2d(images, W) + b)


three = mg.ones(64, 24), mg.ones(64, 24), mg.ones(24, 24)
pictures = mg.ones(8, 3, 16, 16), mg.ones(4, 3, 3, 3), mg.ones(4, 1, 1)
for f, args in ((gelu, [x]), (letter, three), (convolution_layer, pictures)):
    first, *_, last = mg.compiler.steps(graph_of(f, *args))
    print(f"{f.__name__}: {first.nodes} ops, {first.bytes_moved:,} bytes; ", end="")
    print(f"then {last.nodes}, {last.bytes_moved:,} bytes")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: counting launches

# %% [markdown] slideshow={"slide_type": "skip"}
# On a GPU fusion saves more than bytes. There each operation is a launch: a small program is started, and starting
# it takes some microseconds, for one number as well as for a million. minigrad has a simulated GPU, which is NumPy
# behind a GPU's rules, and it counts launches. Run eagerly, gelu takes nine, since the cube is two products. How many
# does the compiled gelu take?


# %% slideshow={"slide_type": "skip"}
def count_launches(f, *args):
    """The launches of f, run eagerly and as a compiled program."""
    gpu = mg.device("simulated")
    args = [a.to(gpu) for a in args]
    program = gpu.program(mg.compiler.optimised(graph_of(f, *args)))
    with gpu.counts() as eager:
        f(*args)
    with gpu.counts() as compiled:
        program(*[a.value for a in args])
    return eager.launches, compiled.launches - 1  # without the copy that hands the result over


for f, args in ((gelu, [x]), (letter, three)):
    print(f.__name__, "launches, eager and compiled:", *count_launches(f, *args))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is it faster?
#
# We measure gelu and `chain`, eager against traced, for arrays of three sizes. The two take turns, for several rounds.
# Where the rounds disagree, the line says *somewhere between*: then this run cannot tell. At which size do you expect
# the largest gain?


# %% tags=["measured", "nbval-ignore-output"]
def gain(f, n):
    """How many times as long the eager run takes."""
    x, traced = mg.ones(n), mg.function(f)
    times = in_turns(eager=lambda: f(x), traced=lambda: traced(x), rounds=5)
    return times["eager"] / times["traced"]


for n in (1_000, 100_000, 3_000_000):
    print(f"{n:9,} numbers: gelu {gain(gelu, n):.1f} times as fast, chain {gain(chain, n):.1f}")

# %% [markdown]
# On most machines gelu gains at every size, and most at the largest. Three million numbers do not fit into the
# **processor cache**, a small and fast memory next to the processor. So each byte saved is a trip to main memory saved.
# (The loop also asks for memory once, and not for each result.) In the middle the arrays lie in the cache anyway, and
# computing tanh is most of the work: nine times fewer bytes are not nine times the speed. For the smallest arrays we
# save Python's overhead per operation, and the short chain has too little of that to notice. *Fewer bytes help where
# bytes are what we wait for.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Nine minutes for fusion. The picture that helps: a cook who puts every ingredient back into the fridge after each cut.
# Ask why the sum at the end of a loss is not in the chain (it needs all elements before it can give one).

# %% [markdown] slideshow={"slide_type": "subslide"}
# The roofline shows where that is. Each mark is an operation. The further to the right it is, the more FLOPs
# (additions, multiplications and the like) it does for each byte it moves; the higher it is, the more it does in a
# second. Where the roof rises, memory is the limit. Where the roof is flat, arithmetic is. The bars show where the time
# goes. Step through it, then switch to *after the compiler's passes*: the marks of the elementwise operations become
# one mark further to the right, with more arithmetic for each byte. The matrix product is on the flat side.

# %% tags=["measured", "nbval-ignore-output"]
Roofline(letter, mg.ones(256, 256), mg.ones(256, 256), mg.ones(256, 256))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## To the last bit
#
# `mg.function(f)` promises the same bits as eager code. `jit_compile=True` does not: it may turn (x + 0.1) + 0.2 into
# x + 0.3, which is one operation less. We do that for x = 1, 2, …, 1000. How many of the thousand results change?
# Guess.


# %%
def add_twice(x):
    return (x + 0.1) + 0.2


Guess("results that change", "How many of 1000 results does FAST change?", options=["none", "1 to 499", "500 or more"])

# %%
numbers = mg.tensor(np.arange(1.0, 1001.0))
eager = add_twice(numbers).numpy()
standard = mg.function(add_twice)(numbers).numpy()
fast = mg.function(add_twice, jit_compile=True)(numbers).numpy()
changed = int((eager != fast).sum())
reveal_range("results that change", changed, 1, 500)

# %%
print(f"changed by STANDARD: {(eager != standard).sum()}, by FAST: {changed}")
print(f"the largest change, as a share of the result: {np.max(abs(fast / eager - 1)):.0e}")

# %% [markdown]
# Most of them, and each in its sixteenth digit: the sum was rounded twice, and is now rounded once. This does no harm
# to the training of a network, because the data are far less exact. But it is no longer *reproducible*: the same
# function gives different bits eagerly and compiled, and a test that asks for equality fails.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Some programs *live* on rounding. Near 1.5 · 2⁵² all floats are whole numbers. So if you add that
# number and take it away again, you have rounded to a whole number (and 2.5 to the even one). What does FAST make of
# [0.3, 1.7, 2.5]?


# %%
def rounded(x):
    big = 1.5 * 2**52
    return (x + big) + -big


Predict("rounded, FAST", "What does the compiled one give?", options=["[0, 2, 2]", "[0.3, 1.7, 2.5]", "[0, 0, 0]"])

# %%
fractions = mg.tensor([0.3, 1.7, 2.5])
unrounded = mg.function(rounded, jit_compile=True)(fractions).tolist()
reveal("rounded, FAST", str(unrounded) if unrounded[0] else "[0, 2, 2]")

# %%
print("eager   ", rounded(fractions).tolist())
print("STANDARD", mg.function(rounded)(fractions).tolist())
print("FAST    ", unrounded)
mg.compiler.steps(graph_of(rounded, fractions), mg.compiler.FAST)

# %% [markdown]
# FAST took (x + big) − big for x, which is right for numbers and wrong for floats, and the rounding is gone. The same
# rule kills sums that correct their own error, and the tricks with which libraries compute exp and log. C compilers
# have the same switch, `-ffast-math`, and the same victims. To find such a fault, run both versions and compare the
# bits. Then look for the pass that did it, in a table such as the one above: here it was *simplify*.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("13_optimising_a_graph")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.function(f)` | `torch.compile(f, backend="eager")` | `tf.function(f)` | no such thing: `jit` is XLA's |
# | `mg.function(f, jit_compile=True)` | `torch.compile(f)` | `tf.function(f, jit_compile=True)` | `jax.jit(f)` |
# | `f.graph_for(x)` | `torch.fx.symbolic_trace(f)` | `f.get_concrete_function(x).graph` | `jax.make_jaxpr(f)(x)` |
# | `share`, `fold`, `simplify` | passes of Inductor | Grappler, `tf.config.optimizer` | passes of XLA |
# | `graph.rebuild(make)` | `torch.fx.Transformer` | none in Python | an interpreter of jaxprs |
# | `f.source` | `TORCH_LOGS=output_code` | `f.experimental_get_compiler_ir(x)()` | `f.lower(x).compile().as_text()` |
#
# The table compares names, not promises: neither `torch.compile` nor XLA promises the bits of an eager run. In the row
# of `f.source`, f is what the second row makes.
#
# ### The same in PyTorch
#
# The pass x · 1 → x takes two nodes out of a graph of `torch.fx`, and the result has the same bits. Two other rules are
# not true of PyTorch's floats either: x · 0 → 0 fails at infinity, and x + 0 → x fails at −0.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def a_pass_in_pytorch(torch):
    """
    6 nodes, then 4
    the same bits: True
    x * 0 at infinity: nan
    x + 0 at -0.0: 0.0
    """
    import operator

    program = torch.fx.symbolic_trace(lambda x: (x * 1).exp() * 1 + x)
    x = torch.linspace(-2, 2, 5)
    nodes_before, result_before = len(program.graph.nodes), program(x)
    for node in program.graph.nodes:
        if node.target is operator.mul and node.args[1] == 1:
            node.replace_all_uses_with(node.args[0])
            program.graph.erase_node(node)
    program.recompile()
    print(nodes_before, "nodes, then", len(program.graph.nodes))
    print("the same bits:", torch.equal(program(x), result_before))
    print("x * 0 at infinity:", (torch.tensor(torch.inf) * 0).item())
    print("x + 0 at -0.0:", (torch.tensor(-0.0) + 0.0).item())


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Dead nodes are never reached, common subexpressions are shared, and constants are computed in advance. Rules of
#   algebra take out what derivative rules left behind.
# - A pass is a function from graph to graph, and `interpret` is its referee.
# - A rule must hold for 0, −0, ∞ and NaN. If it does not, it is only for people who put speed before bits.
# - Fusion saves trips to memory, and launches. It saves time where these are what we wait for.
#
# **Sources.** A. V. Aho, M. S. Lam, R. Sethi, J. D. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition
# (2006), chapters 8 and 9: dead code, folding, common subexpressions. D. Goldberg, *What every computer scientist
# should know about floating-point arithmetic*, ACM Computing Surveys 23 (1991), the section on optimizers: which
# identities fail. D. Hendrycks, K. Gimpel, *Gaussian error linear units*, arXiv:1606.08415 (2016), section 2: gelu. S.
# Williams, A. Waterman, D. Patterson, *Roofline*, Communications of the ACM 52 (2009).
#
# **Exercise.** [13 Passes of your own](../exercises/13_passes_of_your_own.ipynb): count, write, repair, keep a budget
# of bytes, and design a pass.
#
# **Next:** [14 Memory and schedule](14_memory_and_schedule.ipynb): where the results of a graph are kept, and in which
# order they are made.
