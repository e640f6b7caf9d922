# ---
# jupyter:
#   minigrad:
#     title: Start here
#     minutes: 40
#     objectives:
#     - run a cell, predict before you run, and compare
#     - draw the graph of an expression and read its first gradients
#     - train a small GPT, stop it, and change one number of its training
#     - find your files, the keys, and help
#     concepts: [A1]
#     builds_on: []
#     widgets: [ChainRule, GraphView, Predict, Quiz]
#     terms:
#       notebook: A column of cells, some of prose and some of code. Each code cell runs where it stands and shows its
#         result below
#       GPT: A network that reads a text, piece by piece, and says how likely each piece is to come next. It writes by
#         picking a piece by chance, adding it to the text and reading on. In use, pieces are parts of words; in this
#         course, letters
#       gradient: How many times as far the result moves as one of its numbers does, for a small nudge of that number;
#         also the list of these for all the numbers
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 00 Start here
#
# You have a formula, and you change one of its numbers a little. How much does the result move? Training a neural
# network means asking that question about a million numbers at once. This course builds, and takes apart, the device
# that answers it: the *computation graph*.
#
# On this page you draw a graph of five boxes. Then you let the same machinery loose on *Alice's Adventures in
# Wonderland*: a network of 56,320 random numbers reads the book, and you watch what it writes as it learns.
#
# **About 40 minutes.** Afterwards you can run a cell, predict before you run, draw the graph of a formula and read its
# first gradients. You can train a small network, stop it and change one number of its training. And you know where your
# files, the keys and help are.
#
# **Builds on** a little Python and school algebra. The course explains along the way what a derivative is.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. Ask the question of the first paragraph and let the room answer for z = x * y + w before any code is
# shown. Say that no calculus is needed today.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## How to work with this page
#
# A **notebook** is a column of cells: some are prose, like this one, and some are code. Click into the code cell below
# and press <kbd>Shift</kbd>+<kbd>Enter</kbd>. The cell runs, its result appears under it, and the next cell is
# selected.

# %% slideshow={"slide_type": "skip"}
from IPython.display import display

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, reveal, reveal_range
from minigrad.widgets import ChainRule

"ready"

# %% [markdown] slideshow={"slide_type": "skip"}
# The number in brackets to the left of a cell, `[1]`, tells you the order in which cells ran; `[*]` means that the cell
# is running or waits its turn. A result stays until you run its cell again, so it may belong to code that has changed
# since. When in doubt, start over: choose *Kernel → Restart Kernel…* in the menu, then run cell by cell from the top.
# (*Run All Cells* shows every answer before you can predict it.)
#
# | key | what it does |
# |---|---|
# | <kbd>Shift</kbd>+<kbd>Enter</kbd> | run this cell, go to the next |
# | <kbd>Ctrl</kbd>+<kbd>Enter</kbd> | run this cell, stay |
# | <kbd>Enter</kbd>, then <kbd>Esc</kbd> | go into a cell to write, and come out again |
# | <kbd>↑</kbd> <kbd>↓</kbd> | outside a cell: go from cell to cell |
# | <kbd>I</kbd> <kbd>I</kbd> | outside a cell: stop the cell that is running (or press ■ above the page) |
#
# Each lesson has the same rhythm: a question, *your prediction*, the smallest code that answers it, a picture, and the
# gap between what you said and what happened. The gap is where the learning is. A wrong prediction costs nothing.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### More keys
#
# You have just opened a folded heading. Lessons work without the cells inside: they hold what you can look up.
#
# | key | what it does |
# |---|---|
# | <kbd>→</kbd> <kbd>←</kbd> | on a heading with *cells hidden*: open or close them |
# | <kbd>B</kbd>, and <kbd>D</kbd> <kbd>D</kbd> | outside a cell: add a cell below; delete this cell |
# | <kbd>Z</kbd> | outside a cell: undo that |
# | <kbd>Tab</kbd>, <kbd>Shift</kbd>+<kbd>Tab</kbd> | inside code: complete a name; show what it means |

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A first graph
#
# A `Value` is a number that remembers where it came from. Three of them make a formula.

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(2.0)
y = mg.Value(3.0)
w = mg.Value(1.0)
z = x * y + w
z.data

# %% [markdown] slideshow={"slide_type": "fragment"}
# A plain float would have given 7 too, and forgotten the rest. `z` remembers everything that it came from:

# %% slideshow={"slide_type": "subslide"}
mg.draw(z)

# %% [markdown] slideshow={"slide_type": "fragment"}
# Read it from left to right. The tinted squares are the numbers we gave. A rounded box is an operation: its symbol is
# on the left and its result on the right. An arrow says *this number goes in there*. The thick border marks the final
# result. We gave `x * y` no name, so the picture numbers it: x is 1, y is 2, and this is `#3`. (Lesson 02 explains the
# badge *saved*.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Let somebody read the picture aloud from left to right, arrows included. Many read a box as a step of the program;
# it is a number with the operation that made it.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Your first prediction
#
# We nudge `x` from 2 to 2.5 and leave `y` and `w` alone. **By how much does `z` move?** Run the cell, write your
# number, choose how sure you are, and press *Lock*: you cannot change the answer after that. Then run the next cell,
# which computes the right answer. (Without a mouse: <kbd>Tab</kbd> leads from field to field, the arrow keys choose,
# <kbd>Enter</kbd> locks.)

# %% slideshow={"slide_type": "fragment"}
Predict("z moves by", "By how much does z move?")

# %% slideshow={"slide_type": "fragment"}
z_after = mg.Value(2.5) * y + w
reveal("z moves by", z_after.data - z.data)

# %% [markdown] slideshow={"slide_type": "fragment"}
# The nudge was 0.5, and `z` moved three times as far. Why three? Because `x` goes into `z` multiplied by `y`, and `y`
# is 3.

# %% [markdown] slideshow={"slide_type": "notes"}
# Wait until everyone has locked. The commonest wrong answer is 8.5, the new z instead of how far it moved (the quiz
# returns to it); the next most common is 0.5, how far x moved.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Your first gradient
#
# That number, *how many times as far does the result move*, is the **gradient** of `z` with respect to `x`. (Where a
# formula bends, it is true of small nudges only; lesson 02 says how small.) To find it we ran the formula again with
# another `x`. A million numbers would take a million runs. The graph does it in one walk, backwards from `z`, and
# finds the gradient of every number it passes.
#
# What will it say about `w`, which is only added?

# %% slideshow={"slide_type": "fragment"}
Predict("w.grad", "What will the gradient of w be?")

# %% slideshow={"slide_type": "subslide"}
x, y, w = mg.Value(2.0), mg.Value(3.0), mg.Value(1.0)  # new Values, so that you can run this cell twice
z = x * y + w
z.backward()
reveal("w.grad", w.grad)

# %% [markdown] slideshow={"slide_type": "fragment"}
# Whatever is added to `w` is added to `z`: nudge `w` by 0.5, and `z` moves by 0.5, just as far. So its gradient is 1.

# %% slideshow={"slide_type": "fragment"}
mg.draw(z)

# %% [markdown] slideshow={"slide_type": "fragment"}
# It is the same graph, and now each value shows its gradient. In the first picture a dot stood there instead. A dot
# means that there is no number: nobody had computed the gradient yet. That is not the same as 0.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes, counting the page before. Point at the dots of the first picture and the numbers here: a dot says that
# nobody has asked for a gradient. Lesson 02 makes much of that.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where this leads: Alice
#
# A **GPT** reads a text and says how likely each letter is to come next. To write, it picks a letter by chance, the
# likelier ones more often, adds it to the text and reads on. (Large ones use parts of words instead of letters.) Here
# is a small one. It has just been made, and its 56,320 numbers are random. Let it carry on from *Alice was*. (The
# smaller browser edition lacks NumPy: there the cells of this section end in an error, and you go on at [Watch it
# happen](00_start_here.ipynb#Watch-it-happen).)

# %% slideshow={"slide_type": "fragment"}
from minigrad.course.alice import Alice
from minigrad.widgets import GraphView

alice = Alice()
print(alice.write("Alice was ", letters=60))

# %% [markdown] slideshow={"slide_type": "fragment"}
# It has never read anything. So let it read 32 letters of the book and guess, at each of them, which letter comes next.
# How badly it guessed is one number, the *loss*. From the loss, one walk back finds the gradient of all 56,320 numbers,
# as it did for `x`, `y` and `w`. Now move every number a little *against* its gradient, down if its gradient is
# positive, up if it is negative: the loss gets a little smaller.
# That is one step of training. The next cell takes 800 steps, each with eight new pieces of the book.
#
# Nothing else teaches it: it has no dictionary and no grammar. We count how many of the words it writes are in the
# book, too. (Words of one or two letters do not count: they come about by chance.)

# %% slideshow={"slide_type": "fragment"}
Guess(
    "words",
    "After 800 steps, how many of 100 words that it writes will be in the book?",
    options=["fewer than 20", "20 to 59", "60 or more"],
)

# %% [markdown] slideshow={"slide_type": "fragment"}
# You could not know this, so it was a *guess*: nobody counts it. Now run the training. It takes a few seconds on a
# quiet laptop, longer on a busy one. You may stop it at any time with ■ above the page, or <kbd>Esc</kbd> and
# <kbd>I</kbd> <kbd>I</kbd>; it keeps what it has learned until then.

# %% tags=["nbval-ignore-output"] slideshow={"slide_type": "subslide"}
alice = Alice()
loss = alice.train(steps=800, rate=0.004)

# %% tags=["nbval-ignore-output"] slideshow={"slide_type": "fragment"}
percent = alice.percent_of_words()
display(reveal_range("words", percent, 20, 60))
print(f"{percent} of 100 words are in the book.")

# %% [markdown] slideshow={"slide_type": "fragment"}
# First it learns which letters are common, then which letters follow each other, then whole words. It makes no sense,
# and nobody told it what a word is. Every bit of it came from one walk back, 800 times.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let the room call out the first English word as the lines appear. Stop it once, on purpose, and run it
# again. Not a word about attention.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Change one number
#
# `rate` says how far each number moves in a step. So why not take longer steps and be done sooner? Below are 150 steps,
# each 25 times as long. (In the list above you find the loss after 100 and after 200 of the shorter steps.)

# %% slideshow={"slide_type": "fragment"}
Guess(
    "longer steps",
    "With steps 25 times as long, where is the loss after 150 of them?",
    options=["lower than with the shorter steps", "about the same", "higher"],
)

# %% tags=["nbval-ignore-output"] slideshow={"slide_type": "fragment"}
other = Alice()
other_loss = other.train(steps=150, rate=0.1)

# %% slideshow={"slide_type": "fragment"}
reveal_range("longer steps", other_loss, 2.3, 2.6)

# %% [markdown] slideshow={"slide_type": "fragment"}
# A gradient is true of small moves only. A long step outruns it: the numbers land where the gradient knew nothing, and
# the loss stays high, however many steps you take. Lesson 03 shows such a step in a picture.

# %% [markdown] slideshow={"slide_type": "fragment"}
# ### Now it is yours
#
# Go back to the cell that trains `alice`, change *one* number, run it again, and see:
#
# | change | what to look for |
# |---|---|
# | `rate=0.0001` | can steps be too short? |
# | `rate=0.004`, `steps=3000` | half a minute or less on a laptop; do the words get better, or the sentences? |
# | `Alice(seed=1)` | other random numbers to begin with: is it as good in the end? |
#
# And let it write more. The `temperature` says how daring it is: at 0.2 it takes the likeliest letter nearly always,
# at 1.5 it takes risks.

# %% tags=["nbval-ignore-output"] slideshow={"slide_type": "fragment"}
print(alice.write("Alice was ", letters=200, temperature=0.5))

# %% [markdown] slideshow={"slide_type": "slide"}
# ### The graph behind it
#
# Each step built a graph and walked it backwards. Here is the graph of the loss on the first 32 letters of the book,
# for a network that is still random:

# %% slideshow={"slide_type": "fragment"}
untrained = Alice()
loss = untrained.loss()
graph = GraphView(untrained.loss)  # shown below
loss.backward()
print(f"numbers that have a gradient now: {sum(p.grad.size for p in untrained.net.parameters()):,}")
graph

# %% [markdown] slideshow={"slide_type": "fragment"}
# It is a graph like that of `z`: tinted squares for what was given, operations, arrows. The difference is that each box
# holds a whole table of numbers: point at a box, and *norm* is one number that says how large they are. A part of the
# network, such as *attention*, is drawn as one box; what repeats, too. Click its *+* to open it, and walk about; *Fit*
# brings everything into view.
#
# **This box will be opened, lesson by lesson.** Each part of the picture has its lesson:
#
# | in the picture | what it is | opened in |
# |---|---|---|
# | arrows, and the walk back | one number for how much each number matters | 01, 02, 06 |
# | `+` | tables added, number by number; a way around what comes before | 04, 16 |
# | `[ ]` | a row of a table for each letter, and for each place; or a part of a table | 17 |
# | *affine* | a product of tables of numbers, and an addition | 04 |
# | *reshape*, *transpose* | the same numbers in another shape | 04, 14 |
# | *attention* | which earlier letters each letter looks at | 16, 17 |
# | *gelu* | a curve: why there must be a curve (03), and what this one computes (13) | 03, 13 |
# | *standardise* | numbers rescaled to a common size | 21 |
# | *cross entropy*, *mean* | the loss; and, not drawn, a step against the gradients | 03 |
# | the whole, written down beforehand | a graph without numbers; a compiler | 09 to 15 |
# | the bytes of each box, and its time | what needs most, and how to need less | 16 to 21 |
# | the same graph elsewhere | several workers; a file | 22, 23, 24 |
#
# The lessons on the way also use smaller networks; one that reads names stays with you through lessons 08 to 15. In
# lesson 25 you meet Alice again. There she has two blocks instead of one, sees 64 letters instead of 32, and goes
# through every tool of the course.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. The point is that nothing in the picture is new: let somebody find a leaf, a plus, and the arrow into
# the loss.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Watch it happen
#
# Back to five boxes. Where do the gradients 3, 2 and 1 come from? Lesson 02 answers that. For now, look: the widget
# below runs your first graph forward, box by box, then backward, arrow by arrow, with a sentence for each step. It
# writes ∂z/∂x for *how many times as far `z` moves as `x`*.
#
# Click *Step*. Or press <kbd>Tab</kbd> until the widget has a frame, then use <kbd>→</kbd> and <kbd>←</kbd> to step,
# <kbd>space</kbd> to play, <kbd>Home</kbd> and <kbd>End</kbd> to jump; <kbd>Shift</kbd>+<kbd>Tab</kbd> leads out again.

# %% slideshow={"slide_type": "fragment"}
ChainRule(z)

# %% [markdown] slideshow={"slide_type": "notes"}
# Step through it yourself, slowly, and stop before the first arrow back: what will it bring? Do not explain the chain
# rule yet; lesson 02 does.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Your turn
#
# Change the two numbers in this cell until *`out` is 14 and `a.grad` is 5*, and run both cells. Think before you
# try: which of the two numbers decides `a.grad`?

# %% slideshow={"slide_type": "fragment"}
a = mg.Value(1.0)
b = mg.Value(1.0)
out = a * b + 4
out.backward()
mg.draw(out)

# %% slideshow={"slide_type": "fragment"}
print(f"out is {out.data:g}:", "reached" if out.data == 14 else "14 is wanted")
print(f"a.grad is {a.grad:g}:", "reached" if a.grad == 5 else "5 is wanted")

# %% [markdown] slideshow={"slide_type": "notes"}
# Give them three minutes in pairs. Those who finish early: reach 14 and 5 with a constant other than 4, and say which
# gradients have changed.

# %% [markdown] slideshow={"slide_type": "skip"}
# <details><summary>A hint</summary>
#
# In the first graph, `x.grad` was the value of `y`. What is `a` multiplied by here?
# </details>
# <details><summary>An answer</summary>
#
# `a.grad` is the value of `b`, so `b` is 5. Then `a * 5 + 4` is 14 when `a` is 2. The 4 has a dotted frame in the
# picture: it is a *constant*, which needs no gradient.
# </details>
#
# The exercises have a cell that checks your answer in the same way. It says what it expected, what it got, and where
# to look. It works without a network and sends nothing anywhere.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When something goes wrong
#
# Now do something wrong, on purpose. An error message is long. Its *last line* says what was expected and what it got,
# so read that line first.

# %% tags=["raises-exception"] slideshow={"slide_type": "fragment"}
x + "3"

# %% [markdown] slideshow={"slide_type": "notes"}
# Read the last line aloud together, and nothing above it. The habit is the whole lesson of this page.

# %% [markdown] slideshow={"slide_type": "skip"}
# Nothing is broken: go on with the next cell. `help(mg.Value)` would tell you everything about Values; this cell prints
# the part that says what a `Value` *is*. (Every picture of this course can be read as text, too: try
# `print(mg.draw(z).text)`.)

# %% slideshow={"slide_type": "skip"}
from inspect import getdoc

print(getdoc(mg.Value))

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory, without scrolling back up, and lock each answer. When you have locked them all, you are told what
# is right, and what a wrong answer shows. The right answers are not in this file, so no peeping.

# %% slideshow={"slide_type": "skip"}
Quiz("00_start_here")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## How far you are
#
# Whenever you come back here, run this cell. It reads what you have locked, tried and passed in all lessons and
# exercises, and says where to go on. `minigrad status` in a terminal says the same.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import dashboard

dashboard()

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Your files, your eyes and your hands
#
# - These notebooks are *your own copies*: the folder at the left has `lessons` and `exercises`. Write in them, add
#   cells, take notes.
# - **Nothing that you edit is ever overwritten.** When the course is updated, a new edition of a lesson that you have
#   edited is saved next to yours, as `00_start_here.new.ipynb`.
# - What you lock is saved in the same folder, in `.minigrad-answers.jsonl`, and what you try in the exercises in
#   `.minigrad-attempts.jsonl`. Both are plain text, one line for each answer.
# - To get a lesson back as it was, close it, open a terminal (*File → New → Terminal*) and type `minigrad reset
#   lessons/00`. Your copy is moved to the folder `backup`, not deleted.
# - Nothing here needs a network, and nothing you write leaves your machine.
# - If something about the installation seems wrong, type `minigrad doctor` in a terminal: it says what is missing.
#
# *Settings → Theme → JupyterLab Dark* makes everything dark, drawings and widgets too. <kbd>Ctrl</kbd> and <kbd>+</kbd>
# makes everything larger (<kbd>⌘</kbd> and <kbd>+</kbd> on a Mac). You need no mouse: the keys above reach everything,
# and *View → Activate Command Palette* (<kbd>Ctrl</kbd>+<kbd>Shift</kbd>+<kbd>C</kbd>,
# <kbd>⌘</kbd><kbd>⇧</kbd><kbd>C</kbd>) lists every command by name. Widgets stand still until you step them.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same elsewhere
#
# What you did here carries over; the ideas have the same names everywhere.
#
# | | a number with a memory | the formula | the walk back | the gradient |
# |---|---|---|---|---|
# | minigrad | `x = mg.Value(2.0)` | `z = x * y + w` | `z.backward()` | `x.grad` |
# | PyTorch | `x = torch.tensor(2.0, requires_grad=True)` | `z = x * y + w` | `z.backward()` | `x.grad` |
# | TensorFlow | `x = tf.Variable(2.0)` | `z = x * y + w`, on a `tape` | `gx = tape.gradient(z, x)` | `gx` |
# | JAX | `x = 2.0`, and a function `f` | `z = f(x, y, w)` | `gx = jax.grad(f)(x, y, w)` | `gx` |

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The way ahead
#
# | | lesson | its question |
# |---|---|---|
# | one run | [01 What a computation graph is](01_what_a_graph_is.ipynb) | What does a formula leave behind? |
# | | [02 The chain rule, backwards](02_chain_rule_backwards.ipynb) | How does one walk back find every gradient? |
# | | [03 Train a network](03_train_a_network.ipynb) | What are gradients good for? |
# | | [04 A whole array is one node](04_tensors.ipynb) | What changes when a node is a whole array? |
# | | [05 Two directions](05_two_directions.ipynb) | Must we walk backwards? And how do we check the result? |
# | | [06 The dynamic graph](06_the_dynamic_graph.ipynb) | What does a run keep, and for how long? |
# | | [07 Tapes and transforms](07_tapes_and_transforms.ipynb) | Can a function be turned into its derivative? |
# | | [08 A graph for each input](08_a_graph_for_each_input.ipynb) | What do `if` and `for` do to the graph? |
# | graph first | [09 Define, then run](09_define_then_run.ipynb) | What if the graph is there before any number? |
# | | [10 Control flow in graphs](10_control_flow_in_graphs.ipynb) | How does an `if` get into such a graph? |
# | | [11 Tracing](11_tracing.ipynb) | Can plain Python be turned into a graph? |
# | both | [12 Three ways to run one model](12_three_ways.ipynb) | One model, three ways: what does each cost? |
# | faster | [13 Optimising a graph](13_optimising_a_graph.ipynb) | Which work can be left out? |
# | | [14 Memory and schedule](14_memory_and_schedule.ipynb) | How little memory is enough, and what can run at once? |
# | | [15 Compiled code](15_compiled_code.ipynb) | What does a compiler write, and when does it pay? |
#
# In the lessons on *one run* the graph is made while Python computes, as here. *Graph first* means that the graph is
# built before there are numbers to compute with. Once the whole graph is there, it can be made *faster*.

# %% [markdown] slideshow={"slide_type": "skip"}
# | | the second half | its question |
# |---|---|---|
# | cost | [16 Where the bytes go](16_where_the_bytes_go.ipynb) | The weights fit. Why does training not? |
# | | [17 What grows how](17_what_grows_how.ipynb) | Twice the sentence costs what? |
# | | [18 FLOPs are not time](18_flops_are_not_time.ipynb) | Where does the time go, if not into the arithmetic? |
# | | [19 Smaller](19_smaller.ipynb) | Can 90 % of the weights go? |
# | | [20 Sixteen bits](20_sixteen_bits.ipynb) | Where did the gradients go? |
# | | [21 Twice, to keep less](21_twice_to_keep_less.ipynb) | Can a batch fit in half the memory? |
# | together | [22 Many workers, one gradient](22_many_workers_one_gradient.ipynb) | Of eight workers, who sends most? |
# | | [23 One model, many workers](23_one_model_many_workers.ipynb) | Where is a model cut, and who waits? |
# | out | [24 Out of Python](24_out_of_python.ipynb) | What is left when the source is deleted? |
# | all of it | [25 A small GPT](25_a_small_gpt.ipynb) | Can you do everything, on Alice? |
#
# What a graph *costs* is counted in bytes and in operations. Several workers compute it *together*, a file takes it
# *out* of Python, and the last lesson does all of this with Alice's GPT.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What we saw
#
# A formula made of Values leaves a graph behind. A gradient says how many times as far the result moves as one of its
# numbers. One walk backwards finds them all, for five boxes and for a network that learns to write words.
#
# Each exercise has the number of the lesson that it belongs to; the first is [01 The pieces of a scalar
# engine](../exercises/01_scalar_engine.ipynb). All terms are in the [glossary](GLOSSARY.md), and [the map of the
# course](README.md) says what is taught where.
#
# **Sources.** The walk back was published by Seppo Linnainmaa, who followed rounding errors through long
# computations: *Taylor expansion of the accumulated rounding error*, BIT 16 (1976), 146-160. Predicting before
# running is the P of PRIMM: S. Sentance, J. Waite and M. Kallia, *Teaching computer programming with PRIMM: a
# sociocultural perspective*, Computer Science Education 29 (2019), 136-176.
#
# **Next:** [01 What a computation graph is](01_what_a_graph_is.ipynb).
