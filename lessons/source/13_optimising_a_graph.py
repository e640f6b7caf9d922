# ---
# jupyter:
#   minigrad:
#     title: Optimising a graph
#     minutes: 45
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
#       constant folding: computing beforehand, once, what depends on no input
#       rewrite rule: one identity of algebra, used from left to right on any node that fits
#       fusion: making one operation of several, so that what they hand to each other never goes through memory
#       epilogue: elementwise operations done on the result of a matrix product while it is still near
#       processor cache: a small and fast memory beside the processor, which holds what was used last
#       launch: one start of one kernel, that is of one small program, on a device
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 13 Optimising a graph
#
# The price of lesson 08 was that nobody sees the whole: each operation of the name network ran before Python had read
# the next line. Traced, the network is there as a whole before a single number flows. **What can be seen in a whole
# graph that cannot be seen one operation at a time, and what is it worth?**
#
# **About 45 minutes.** Afterwards you can
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
# Two minutes. Ask what the room would change in the function below before running it. Collect the answers on the
# board: each of them will turn out to be a pass with a name.

# %% slideshow={"slide_type": "skip"}
import math

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, in_turns, reveal
from minigrad.widgets import PassViewer, Roofline

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What nobody asked for
#
# Here is `careless`, which you met in lesson 08. Run eagerly it is seven operations. Its graph has only what the result
# depends on. How many operations is that?


# %%
def careless(x):
    left = (x * 2).exp()
    (x * 3).tanh()  # and it is dropped
    right = (x * 2).exp()
    return left + right


Predict("ops in the graph", "How many operations are in the graph of what careless returns?")


# %%
def graph_of(f, *args):
    return mg.function(f).graph_for(*args)


def operations(graph):
    return sum(bool(node.inputs) for node in graph.nodes)


x = mg.tensor(np.linspace(-2, 2, 1000))
graph = graph_of(careless, x)
mg.draw(graph)

# %%
reveal("ops in the graph", operations(graph))

# %% [markdown]
# The tanh and its product are gone. A graph is what can be reached from its outputs, walking back; a **dead node**,
# one on which no result depends, is not reached, and so there is nothing to take out. That is why lesson 09's session
# did not run it either. (`mg.Graph` in lesson 09 is a graph under construction. What `graph_for` gives is finished:
# inputs, outputs, and nodes that never change.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Said twice
#
# A **pass** is a function from a graph to a graph that computes the same. Passes are in `mg.compiler`; the first one is
# called `share`. It looks for a **common subexpression**: an operation that stands there twice, on the same operands.
# How many of the five operations will be left?

# %%
Predict("ops after share", "How many of the five operations are left after share?")

# %%
shared = mg.compiler.share(graph)
mg.draw(shared)

# %%
reveal("ops after share", operations(shared))

# %% [markdown]
# Lesson 01 said: what is *used* twice is one node, what is *written* twice is two. Now the second becomes the first.
# `share` begins at the inputs: both products read x and a 2, so they are one; *then* both exp read the same node, so
# they are one, too. All a compiler needs for this is a table, from (operation, operands) to the node that has it. (The
# operands in their order, except for + and ×: x + 3 and 3 + x have the same bits, so `share` takes them for one. Two
# calls of `mg.rand` are not shared, although they look alike: each has an effect, it moves the generator on.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes up to here. If somebody asks why Python does not do this itself: `x * 2` calls a method that may do
# anything. Here an operation is data, and can be compared.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Known before the run
#
# Here are weights that halve from step to step, and add up to 1. They depend on no input. **Constant folding** computes
# such things when the graph is compiled, and never again. (`mg.constant`, which belongs to graphs and is not an eager
# tensor, says: the same at every run.) Beside it is the same function with a tensor from outside, `steps_back`. How
# many of *its* five operations does folding take out?

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
for f in (fading, fading_too):
    faded = graph_of(f, mg.ones(8))
    print(f"{f.__name__:11} {operations(faded)} operations, after fold {operations(mg.compiler.fold(faded))}")
reveal("folded of fading_too", operations(faded) - operations(mg.compiler.fold(faded)))

# %% [markdown]
# None. A tensor from outside is *read at each run* (lesson 11: that is how parameters change while a graph stays), so
# the value it has today must not be built in. The compiler folds what you *say* is constant.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who writes `x * 1`?
#
# Nobody. But rules do. A derivative rule is written for all cases and knows nothing about yours: the rule for a + b
# sends the gradient on, times 1. Here is the gradient of the name network (lesson 08) for the three letters of yui, as
# the rules wrote it, and how it changes pass by pass. (Its letters are Python numbers here, so the loop is unrolled.)

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
# There they are, and below them is a row for each pass that changed something. *nodes* counts operations, and no leaves
# or constants. *simplify* takes the products with 1 out, *transposes* moves transposes to where they are in nobody's
# way, and *fuse* comes below. *Bytes moved* is what all operations read and write, *peak bytes* the most that is alive
# at once, the subject of lesson 14. It rises at *fuse*: W's gradient is a sum of three, one for each letter, which were
# added one by one as they came; the one loop that now adds them can begin only when all three are there. (In
# sopuruchukwu *share* has more to do: four of its letters are a u, and the row of u is looked up once.) Most of what a
# compiler finds was not written by a human.
#
# Simplifying works by rules. A **rewrite rule** is one identity of algebra, used from left to right: x · 1 → x,
# x² → x·x, two transposes → none. Each looks at one node, and gives a better one or nothing.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A pass of your own: x · 1 → x
#
# `graph.rebuild(make)` goes through all nodes, inputs first. For each it asks `make(node, inputs)` what to put in its
# place; `inputs` are its operands *as they are by now*. That is enough for a pass.


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
# Python's `match` reads like the rule: a product whose operands are some x and a node that is the constant 1. The spec
# (shape and dtype) must stay what it was. Now we run it on the gradient for yui. (The state at the start is an input,
# too: the trace captured it, as lesson 11 says.)

# %%
after = without_ones(yui)
print(operations(yui), "operations, then", operations(after))
arrays = [*(weight.numpy() for weight in start), np.zeros((1, 24))]
pairs = zip(mg.compiler.interpret(yui, *arrays), mg.compiler.interpret(after, *arrays))
print("the same to the last bit:", all(np.array_equal(a, b) for a, b in pairs))

# %% [markdown]
# Seven are gone: the six in the list above, and a 1 × (−1), where the gradient starts. `interpret` runs any graph, node
# by node, and is the referee for anyone who writes passes. Ask it every time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let the room write `case ops.Neg(), (Node(ops.Neg(), (x,)),)` for −(−x). A frequent slip is to match on
# node.inputs: these are the operands before the pass, and −(−(−(−x))) then loses only one pair.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which rules are true?
#
# What is true of numbers need not be true of *floats*, which have a largest and a smallest, two zeros, infinity, and
# nan, which is not even equal to itself. Below are nine rules and seven floats. We count nan as equal to nan, and 0 and
# −0 as different, because 1/0 is ∞ and 1/−0 is −∞. How many of the nine hold for every one of the seven?


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


def same(a, b):
    return (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)


# %%
Predict("rules that hold", "How many of the nine rules hold for all seven floats?")

# %%
with np.errstate(all="ignore"):
    fails = {rule: FLOATS[~same(written(FLOATS), done(FLOATS))] for rule, (written, done) in RULES.items()}
for rule, floats in fails.items():
    print(f"{rule:16} {'fails at ' + ', '.join(map(str, floats)) if len(floats) else 'holds'}")
reveal("rules that hold", sum(len(floats) == 0 for floats in fails.values()))

# %% [markdown]
# Three. −0 + 0 is 0, so even x + 0 is not always x. x / 4 is safe, because a quarter is a power of two and shifts only
# the exponent; a third is not a float at all. And what does minigrad do? `STANDARD`, the passes of `mg.function`, has
# the rules that hold and no others. `FAST`, which `mg.function(f, jit_compile=True)` uses, also has some that are off
# by a rounding or by the sign of a 0:


# %%
def simplifies(passes, f):
    """Whether a rule of these passes applies."""
    return any(step.changed for step in mg.compiler.steps(graph_of(f, x), passes) if step.name == "simplify")


for rule, (written, _) in RULES.items():
    standard, fast = (simplifies(passes, written) for passes in (mg.compiler.STANDARD, mg.compiler.FAST))
    print(f"{rule:16} {'STANDARD and FAST' if standard else 'FAST alone' if fast else 'neither'}")

# %% [markdown]
# x · 0 → 0, x − x → 0 and x / x → 1 are in neither. These would not be off by a little; they would *remove a nan*: with
# `x * 0` simplified to 0, a loss that is nan looks healthy, and the bug that made it is hidden by the compiler. At x =
# 0, x / x is nan, and "1" answers a question that has no answer.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes, the heart of the lesson. Before the reveal let two people argue about x + 0. The answer, −0 + 0 = 0,
# surprises nearly everybody. (a + b) − a is the same trap as x + 1 + −1: for large a, nothing of b is left.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: moves that move nothing
#
# A transpose copies nothing: it reads the same memory the other way round. But it is in the way of other passes. The
# pass `transposes` moves transposes past elementwise operations until two of them meet, or a matrix product takes one
# up. The road goes on without it.


# %% slideshow={"slide_type": "skip"}
def turned(x, y):
    return (x.T * 2.0 + y.T).T


crossed = graph_of(turned, mg.ones(10, 20), mg.ones(10, 20))
mg.draw(crossed)

# %% slideshow={"slide_type": "skip"}
print(operations(crossed), "operations, then", operations(mg.compiler.transposes(crossed)))
mg.draw(mg.compiler.transposes(crossed))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All passes, one at a time
#
# Now on a function of yours. Change `mine`, keep it under sixty boxes, and step through: dashed is what a pass will
# take out, blue what it has put in. Before each step, say which boxes will go.

# %% tags=["measured", "nbval-ignore-output"]


def mine(x, W, b):
    scores = ((x @ W + b) / 4).T.T
    return (scores.tanh() * 1 + scores.tanh() * (mg.constant(6.0) / 3)).sum()


PassViewer(mg.function(mine), mg.ones(32, 64), mg.ones(64, 16), mg.ones(16))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fusion: fewer passes over memory
#
# Here is a chain of elementwise operations on 1000 numbers of 8 bytes. Each operation reads its operand from memory and
# writes its result there, and the next one reads it again. How many bytes does that move, if all three are done one
# after the other? Count a number written in the program, like the 2, as 8 bytes that are read once.


# %%
def chain(x):
    return (x * 2 + 1).tanh()


Predict("bytes of the chain", "How many bytes do the three operations read and write?", unit="bytes")

# %%
links = graph_of(chain, x)
fused = mg.compiler.fuse(links)
for name, each in (("as written", links), ("fused", fused)):
    print(f"{name:10} operations: {operations(each)}, bytes: {mg.compiler.bytes_moved(each):,}")
reveal("bytes of the chain", mg.compiler.bytes_moved(links))

# %% [markdown]
# Three times 8,000 in and 8,000 out, and two numbers. **Fusion** makes one loop of the three: take an element, do
# everything to it, write it, take the next. x is read once, the result is written once, and what lies between never
# sees memory; the 2 and the 1 stand in the loop itself. The longer the chain, the more there is to save.
#
# gelu, the activation in many language models, is such a chain, of eight operations. A matrix product is not
# elementwise and ends a chain; but what follows it can be done to its result while that is still near. Bias and
# activation are its **epilogue**: a letter of the name network, for 64 names at once, is two operations instead of
# three. A layer whose product is a convolution (lesson 04) becomes two operations as well, gelu and all.


# %%
def gelu(x):
    return 0.5 * x * (1 + mg.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def letter(push, state, W):
    return (push + state @ W).tanh()


def convolved(images, W, b):
    return gelu(mg.nn.functional.conv2d(images, W) + b)


three = mg.ones(64, 24), mg.ones(64, 24), mg.ones(24, 24)
pictures = mg.ones(8, 3, 16, 16), mg.ones(4, 3, 3, 3), mg.ones(4, 1, 1)
for f, args in ((gelu, [x]), (letter, three), (convolved, pictures)):
    way = mg.compiler.steps(graph_of(f, *args))
    print(f"{f.__name__}: {way[0].nodes} ops, {way[0].bytes_moved:,} bytes; ", end="")
    print(f"then {way[-1].nodes}, {way[-1].bytes_moved:,} bytes")

# %% [markdown] slideshow={"slide_type": "skip"}
# ### Fewer starts
#
# On a GPU each operation is a **launch**: a small program is started, and starting it takes some microseconds, for one
# number as for a million. minigrad has a simulated GPU, NumPy behind a GPU's rules, and it counts launches. Eagerly,
# gelu takes nine (the cube is two products). How many does the compiled one take?

# %% slideshow={"slide_type": "skip"}
Predict("launches of gelu", "How many launches does the compiled gelu take?")


# %% slideshow={"slide_type": "skip"}
def launches(f, *args):
    """Eagerly, and as a compiled program."""
    gpu = mg.device("simulated")
    args = [a.to(gpu) for a in args]
    program = gpu.program(mg.compiler.optimised(graph_of(f, *args)))
    with gpu.counts() as eager:
        f(*args)
    with gpu.counts() as compiled:
        program(*[a.value for a in args])
    return eager.launches, compiled.launches - 1  # the copy that hands the result over is no part of the work


for f, args in ((gelu, [x]), (letter, three)):
    print(f.__name__, "launches, eager and compiled:", *launches(f, *args))
reveal("launches of gelu", launches(gelu, x)[1])

# %% [markdown] slideshow={"slide_type": "notes"}
# Nine minutes for fusion. The picture that helps: a cook who puts every ingredient back into the fridge after each
# cut. Ask why the sum at the end of a loss is not in the chain (it needs all elements before it can give one).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is it faster?
#
# Measured here, eager against traced, for arrays of three sizes. The two take turns, for several rounds; where the
# rounds disagree the line says *somewhere between*, and this run cannot tell. Guess first: where is the gain largest?


# %% tags=["measured", "nbval-ignore-output"]
def gain(f, n):
    """How many times as long it takes eagerly."""
    x, traced = mg.ones(n), mg.function(f)
    times = in_turns(eager=lambda: f(x), traced=lambda: traced(x), rounds=5)
    return times["eager"] / times["traced"]


for n in (1_000, 100_000, 3_000_000):
    print(f"{n:9,} numbers: gelu {gain(gelu, n):.1f} times as fast, chain {gain(chain, n):.1f}")

# %% [markdown]
# On most machines gelu gains at every size, and most at the largest: three million numbers do not fit into the
# **processor cache**, a small and fast memory beside the processor, so every byte saved is a trip to main memory saved;
# and the loop asks for memory once, where an eager run asks for it at each result. In the middle the arrays lie in the
# cache anyway and the tanh itself is most of the work: nine times fewer bytes are not nine times the speed. For the
# smallest it is Python's overhead per operation that is saved (lesson 08), and the short chain has too little of that
# to notice. *Fewer bytes help where bytes are what we wait for.*
#
# The roofline shows where that is. A dot is an operation: to the right, its FLOPs (additions, multiplications and the
# like) for each byte it moves; upwards, how many it does in a second. Where the roof rises, memory is the bound; where
# it is flat, arithmetic is; between them is the ridge. Step through it, then switch to *after the compiler's passes*:
# the dots of the elementwise operations become one, further to the right, with more arithmetic for each byte. The
# matrix product stands to the right of the ridge.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "subslide"}
Roofline(letter, mg.ones(256, 256), mg.ones(256, 256), mg.ones(256, 256))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## To the last bit
#
# `mg.function(f)` promises the same bits as eager code. `jit_compile=True` does not: it may turn (x + 0.1) + 0.2 into
# x + 0.3, one operation less. For x = 1, 2, …, 1000, how many of the thousand results change?


# %%
def twice_shifted(x):
    return (x + 0.1) + 0.2


Predict("results that change", "How many of 1000 results does FAST change?", options=["none", "a few", "most"])

# %%
numbers = mg.tensor(np.arange(1.0, 1001.0))
eager = twice_shifted(numbers).numpy()
standard = mg.function(twice_shifted)(numbers).numpy()
fast = mg.function(twice_shifted, jit_compile=True)(numbers).numpy()
changed = int((eager != fast).sum())
print(f"changed by STANDARD: {(eager != standard).sum()}, by FAST: {changed}")
print(f"the largest change, as a share of the result: {np.max(abs(fast / eager - 1)):.0e}")
reveal("results that change", "none" if changed == 0 else "a few" if changed < 500 else "most")

# %% [markdown]
# Most, and each in its sixteenth digit: the sum was rounded twice and is now rounded once. For training a network that
# is harmless: the data are far less exact. It is no longer *reproducible*, though: the same function gives different
# bits eagerly and compiled, and a test that asks for equality fails.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Some programs *live* on rounding. Near 1.5 · 2⁵² floats are whole numbers, so adding that number
# and taking it away again rounds to a whole number, and 2.5 to the even one. What does FAST make of [0.3, 1.7, 2.5]?


# %%
def rounded(x):
    big = 1.5 * 2**52
    return (x + big) + -big


Predict("rounded, FAST", "What does the compiled one give?", options=["[0, 2, 2]", "[0.3, 1.7, 2.5]", "[0, 0, 0]"])

# %%
fractions = mg.tensor([0.3, 1.7, 2.5])
print("eager   ", rounded(fractions).tolist())
print("STANDARD", mg.function(rounded)(fractions).tolist())
unrounded = mg.function(rounded, jit_compile=True)(fractions).tolist()
print("FAST    ", unrounded)
reveal("rounded, FAST", str(unrounded) if unrounded[0] else "[0, 2, 2]")

# %% [markdown]
# a + b − a was taken for b: true of numbers, not of floats. Summation that corrects its own error, and the tricks with
# which libraries compute exp and log, die of the same rule. C compilers have the same switch, `-ffast-math`, and the
# same victims. To find such a fault, run both, compare the bits, and look at the table of `mg.compiler.steps` for
# the pass that did it.

# %%
mg.compiler.steps(graph_of(rounded, fractions), mg.compiler.FAST)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("13_optimising_a_graph")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
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

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Dead nodes are never reached, common subexpressions are shared, what is constant is computed beforehand, and rules
#   of algebra take out what derivative rules left behind.
# - A pass is a function from graph to graph; `interpret` is its referee.
# - A rule must hold for 0, −0, ∞ and nan, or it is only for those who put speed before bits.
# - Fusion saves trips to memory and launches. It saves time where these are what we wait for.
#
# **Sources.** A. V. Aho, M. S. Lam, R. Sethi, J. D. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition
# (2006), chapters 8 and 9: dead code, folding, common subexpressions. D. Goldberg, *What every computer scientist
# should know about floating-point arithmetic*, ACM Computing Surveys 23 (1991), the section on optimizers: which
# identities fail. D. Hendrycks, K. Gimpel, *Gaussian error linear units*, arXiv:1606.08415 (2016), section 2: gelu.
# S. Williams, A. Waterman, D. Patterson, *Roofline*, Communications of the ACM 52 (2009).
#
# **Exercise.** [13 Passes of your own](../exercises/13_passes_of_your_own.ipynb): count, write, repair, keep a budget
# of bytes, and design a pass.
#
# **Next:** [14 Memory and schedule](14_memory_and_schedule.ipynb): where the results of a graph are kept, and in
# which order they are made.
