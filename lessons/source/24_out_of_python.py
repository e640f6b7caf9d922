# ---
# jupyter:
#   minigrad:
#     title: Out of Python
#     minutes: 30
#     objectives:
#       - say which part of a model is in its weights, and which is not
#       - save a graph with its arrays, and run it where there is none of your code
#       - say what happens when a pickle is loaded
#       - say what must be in a file besides the network
#       - read the file, and say what a loader has to refuse (an optional section)
#       - say what a graph no longer knows of the Python that it came from (an optional section)
#       - export a graph to ONNX, run it in another engine, and compare the numbers (an optional section)
#     concepts: [G1, G3, G4]
#     builds_on: [09_define_then_run, 11_tracing]
#     widgets: [GraphView, Predict, Quiz]
#     terms:
#       state dict: the arrays of a model by their names, without anything that is done with them
#       serialise: to write what is in memory as bytes from which it can be made again
#       pickle: Python's own format for objects, a program that is run when it is loaded
#       ONNX: a list of operations, and a format for graphs of them, that many engines read
#       opset: an edition of ONNX's list of operations, by its number
#       dynamic axis: an axis of an exported graph whose length each run may choose
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 24 Out of Python
#
# A trained network lives in a Python process: arrays in memory, and a class with a `forward`. Tomorrow it has to answer
# on a phone, in a browser, or on the server of a company that writes Java. Or in your own Python three years from now,
# when that class has been rewritten twice. **Delete the source: what is left?** In this lesson we delete it, and look
# at what several kinds of file still know.
#
# **About 30 minutes.** Afterwards you can
#
# - say which part of a model is in its weights, and which is not;
# - save a graph with its arrays, and run it where there is none of your code;
# - say what happens when a pickle is loaded;
# - say what must be in a file besides the network.
#
# Folded, optional sections open such a file, show what a graph no longer knows, and write ONNX.
#
# **Builds on** [09 Define, then run](09_define_then_run.ipynb) and [11 Tracing](11_tracing.ipynb). What it opens in
# [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the same graph elsewhere.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who has loaded somebody else's model, and what they needed besides the file. "The repository, in the
# right version" is the answer to wait for.

# %% slideshow={"slide_type": "skip"}
import pickle
import pickletools
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, reveal
from minigrad.widgets import GraphView

mg.manual_seed(0)
temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # deleted when the kernel ends
folder = Path(temporary.name)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A model, and its weights
#
# Here is a network that recognises digits. The greys of a picture are stretched to −1 … 1, and a layer reads them. Then
# one layer, `think`, is used twice, each time with a skip connection around it. Ten scores come out. We train it. Then
# we do what most people do to keep a model: we write its **state dict**, its arrays by their names, to a file.


# %%
class Recogniser(mg.nn.Module):
    def __init__(self, turns=2):
        self.read, self.think, self.answer = mg.nn.Linear(64, 32), mg.nn.Linear(32, 32), mg.nn.Linear(32, 10)
        self.drop, self.turns = mg.nn.Dropout(0.2), turns

    def forward(self, x):
        h = self.read(x * 2 - 1).tanh()
        for _ in range(self.turns):
            h = h + self.drop(self.think(h)).tanh()
        return self.answer(h)


def share_right(model):
    """The share of the test digits that a model gets right."""
    return (model(test).numpy().argmax(1) == truth).mean()


# %%
digits = mg.data.digits()
pictures, labels = mg.tensor(digits.train_x), mg.tensor(digits.train_y)
test, truth = mg.tensor(digits.test_x, dtype=mg.float32), digits.test_y
net = Recogniser()
optimizer = mg.optim.Adam(net.parameters(), lr=0.005)
for _ in range(60):
    optimizer.zero_grad()
    mg.cross_entropy(net(pictures), labels).backward()
    optimizer.step()

net.float().eval()  # float32, and no dropout from here on
mg.save(folder / "weights.safetensors", net.state_dict())
for name, array in mg.load(folder / "weights.safetensors").items():
    print(f"{name:14} {tuple(array.shape)}")
print(f"{sum(p.nbytes for p in net.parameters()):,} bytes of weights; right: {share_right(net):.0%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The weights alone
#
# You send that file to a colleague, who has none of your code. She sees three layers, `read`, `think` and `answer`,
# whose shapes fit in that order. So she writes what most people would write: the three layers one after another, with
# relu in between. She loads the file into her class. What happens?

# %%
Predict("her class", "Her class loads the weights, and …", options=["an error", "the same answers", "other answers"])


# %%
class HerRecogniser(mg.nn.Module):
    def __init__(self):
        self.read, self.think, self.answer = mg.nn.Linear(64, 32), mg.nn.Linear(32, 32), mg.nn.Linear(32, 10)

    def forward(self, x):
        return self.answer(self.think(self.read(x).relu()).relu())


hers = HerRecogniser().float()
keys = hers.load_state_dict(mg.load(folder / "weights.safetensors"))
reveal("her class", "the same answers" if share_right(hers) == share_right(net) else "other answers")

# %%
print(keys, f"right: {share_right(hers):.0%}")

# %% [markdown]
# Every name is found, every shape fits, no message complains, and most answers are wrong. The file does not say that
# the greys are stretched, that the activation is tanh, that there are skips, or that `think` runs *twice*.
#
# "The weights are the model", people often say. They are the numbers of a calculation, and the calculation is in the
# source.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. The most dangerous word of the page is "matched". Ask what else could be hidden: the order of the
# colours, the size of a patch, which token is which number.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What else there is
#
# What is done with the numbers is the graph. `mg.save(path, net, spec)` traces the network (lesson 11) for an input
# like `spec`, and writes the graph and its arrays into one file. `None` stands for a length that each call may choose.
# How many products with the weights of `think` are in the graph?

# %%
Predict("think", "Products with the weights of think in the graph:")

# %%
mg.save(folder / "net.mg", net, mg.TensorSpec((None, 64), mg.float32))
loaded = mg.load(folder / "net.mg")
nodes = loaded.graph.nodes
(weight,) = (node for node in loaded.graph.inputs if node.op.name == "think_weight")
reveal("think", sum(weight in node.inputs for node in nodes))

# %%
print(", ".join(f"{name} {n}" for name, n in sorted(Counter(type(node.op).__name__ for node in nodes).items())))
print(f"arrays: {len(loaded.state_dict())}, right: {share_right(loaded):.0%}")

# %% [markdown]
# Two. The Python loop is over, and what it did is written down, turn by turn. The weights are in the file once, since
# both products read the same input. (`Affine` is a product and a bias.) No class
# was needed to load it. But what was Python is decided for good: the number of turns, and that dropout was off. Calling
# `train()` or `eval()` on what was loaded changes nothing.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### The whole graph
#
# A picture comes in at one end. Find the weights of `think`, and follow each arrow that leaves them.

# %%
GraphView(loaded.graph)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Delete the source
#
# A second Python process knows nothing of this notebook: `Recogniser` does not exist there. We give it two files of the
# same network. One is `net.mg`. The other is a **pickle**, Python's own format, which can keep almost any object: it
# writes the object's attributes and the *name* of its class.


# %%
def run_elsewhere(load, before=""):
    """Load a file in a new Python process; return the scores of the test digits, or the error."""
    imports, save = "import pickle, minigrad as mg, numpy as np", "np.save('scores.npy', net(pictures).numpy())"
    program = [imports, before, "pictures = mg.tensor(np.load('pictures.npy'))", f"net = {load}", save]
    command = [sys.executable, "-c", "\n".join(program)]
    ended = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    return ended.stderr.splitlines()[-1].split(" on ")[0] if ended.returncode else np.load(folder / "scores.npy")


(folder / "net.pkl").write_bytes(pickle.dumps(net))
np.save(folder / "pictures.npy", test.numpy())
BY_PICKLE = "pickle.load(open('net.pkl', 'rb'))"
if sys.platform == "emscripten":  # a browser starts no second process: this is recorded
    print("graph: the same bytes come out: True\npickle: AttributeError: Can't get attribute 'Recogniser'")
else:
    same = run_elsewhere("mg.load('net.mg')").tobytes() == net(test).numpy().tobytes()
    print("graph: the same bytes come out:", same)
    print("pickle:", run_elsewhere(BY_PICKLE))

# %% [markdown]
# The graph answers, and its 3,600 scores, ten for each of 360 pictures, are those of this process to the last bit: the
# same ops on the same arrays. The pickle needs a class of that name. (If it finds next month's class, it puts the old
# weights into it, and no message says so: see *Further: open the file*.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Ask what the server of a company that writes Java needs for each of the two files.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is a pickle safe, at least?
#
# So a pickle keeps no code of ours. Is it at least safe to load one? `pickletools.dis` takes a pickle apart without
# loading it. Here is the pickle of an object that says itself how to rebuild it.
#
# Read it line by line, as a small machine does. Strings are pushed onto a stack. `STACK_GLOBAL` takes two of them, a
# module and a name in it, and pushes the object of that name. `TUPLE1` makes a tuple of arguments. `REDUCE` calls the
# object with them. (`FRAME` and `MEMOIZE` are bookkeeping.)


# %%
class Surprise:
    def __reduce__(self):
        return print, ("this ran while loading",)


surprise = pickle.dumps(Surprise(), protocol=4)
pickletools.dis(surprise)

# %%
Predict("pickle", "pickle.loads …", options=["gives back a Surprise", "calls print", "raises an error"])

# %%
with redirect_stdout(StringIO()) as printed:  # what it prints waits for the next cell
    result = pickle.loads(surprise)  # harmless: print is all that it names
reveal("pickle", "gives back a Surprise" if isinstance(result, Surprise) else "calls print")

# %%
print(printed.getvalue())

# %% [markdown]
# It calls print, and no Surprise comes out at all. Instead of `builtins` and `print` there could be `os` and `system`,
# and then any command. **A pickle is a program, and to load it is to run it.**
#
# The files of `torch.load` are pickles in a zip. That is why, since PyTorch 2.6, it accepts only a few known names,
# unless you say `weights_only=False`. Its error begins "Weights only load failed". `mg.load` calls nothing that a file
# names: it looks each op up in a table, and refuses what is not there.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. We never load what could do harm; if you want to try, change the text, not the function. Ask: does a
# virus scanner help? There are thousands of names to call. What helps is a format in which there is no call.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Monday morning
#
# **Where it breaks.** Everything is tested. On Monday it goes into production,
# and a scanner sends pictures whose greys go from 0 to 16, as it always did. In training, somebody had divided them by
# 16 when the data were read. Guess: how many of 100 digits does `net.mg` get right now?

# %%
Guess("greys", "Right, of 100 pictures with greys from 0 to 16:", tolerance=10)

# %%
scanned = test * 16
share = (loaded(scanned).numpy().argmax(1) == truth).mean()
reveal("greys", round(100 * share))

# %%
print(f"right: {share:.0%}, without an error")

# %% [markdown]
# Most are still right, so a look at a few answers shows nothing. Even weights and graph together are not the model, if
# what was done *before* the graph is missing.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Save the whole function
#
# So save the whole function, from the numbers that a caller has to the answer that a caller wants:


# %%
def digit(scan):
    """From greys of 0 to 16 to a digit and how sure it is."""
    share = mg.softmax(net(scan / 16), 1)
    return {"digit": share.argmax(1), "share": share.max(1)}


mg.save(folder / "digit.mg", digit, mg.TensorSpec((None, 64), mg.float32))
whole = mg.load(folder / "digit.mg")
print(f"right: {(whole(scanned)['digit'].numpy() == truth).mean():.0%}")

# %% [markdown]
# A server needs no more than such a file: `minigrad serve digit.mg` answers over HTTP. (`python3 start.py add serve`
# brings what it needs.) On a phone there is no minigrad: *Further: in others' words* writes a file for other engines.
# Splitting a text into tokens, or decoding a JPEG, is harder. What cannot be in the graph is written down next to it,
# with a test.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. If the room has a network, run the folded section on ONNX, and drop net.onnx onto netron.app; the file
# stays in the browser. Ask who has seen a model that was tested, correct, and fed the wrong numbers.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: open the file
#
# You can follow the lesson without what is folded here: the bytes of `net.mg`, four bad files, and a pickle that meets
# another class. To **serialise** is to write what is in memory as bytes from which it can be made again.

# %% [markdown] slideshow={"slide_type": "skip"}
# Let us read the bytes of `net.mg`.

# %% slideshow={"slide_type": "skip"}
import json
import struct

data = (folder / "net.mg").read_bytes()
(length,) = struct.unpack("<Q", data[:8])  # the first eight bytes: how long the header is
header = json.loads(data[8 : 8 + length])
metadata = json.loads(header.pop("__metadata__")["minigrad"])
print(f"{len(data):,} bytes: 8, a header in JSON, and {len(data) - 8 - length:,} bytes of elements")
print("think.weight:", header["think.weight"])
graph_nodes = metadata["parts"][0]["graph"]["nodes"]
for number, node in enumerate(graph_nodes[7:14], 7):
    print(number, node["op"], "of", node["inputs"])
print(json.dumps(graph_nodes[12]))
print("Python source in it:", b"def forward" in data)

# %% [markdown] slideshow={"slide_type": "skip"}
# There is a table of arrays, and in its metadata a text. In the text each node has the name of its op, and the numbers
# of the nodes that it reads, all of which come before it. (0 to 6, not printed, are the picture and the six arrays.)
# Node 12 is printed in full, with its dtype and its shape; "batch" is the length that we left open. This is lesson 01's
# graph, on paper.
#
# The format of the arrays is *safetensors*, so PyTorch, too, can read the weights from this file. There is nothing else
# in it: no class, no source, nothing to import.

# %% [markdown] slideshow={"slide_type": "skip"}
# A file without calls can still be wrong, or somebody can make it wrong. So `mg.load` believes nothing. It looks each
# op up in a table, works its result out again, and checks sizes against the file. Here are four bad files, each refused
# before anything runs. (No loader can see wrong numbers in the right places.)

# %% slideshow={"slide_type": "skip"}
bad = {
    "a pickle": surprise,
    "cut short": data[:-1],
    "an unknown op": data.replace(b"Tanh", b"Exec"),
    "another dtype": data.replace(b"F32", b"F64", 1),
}
for name, content in bad.items():
    (folder / "bad.mg").write_bytes(content)
    try:
        mg.load(folder / "bad.mg")
    except mg.errors.SavedFileError as error:
        print(f"{name}: {str(error).partition('bad.mg ')[2]}")

# %% [markdown] slideshow={"slide_type": "skip"}
# Now the pickle. Without the class it cannot be loaded. So somebody adds a class `Recogniser`, the one that they find
# in next month's source, in which `forward` uses relu and no skips. Does the pickle raise an error, give the old
# answers, or give other answers?

# %% slideshow={"slide_type": "skip"}
NEXT_MONTH = """
class Recogniser(mg.nn.Module):
    def forward(self, x):
        return self.answer(self.think(self.read(x).relu()).relu())
"""
if sys.platform == "emscripten":  # recorded
    print("right: 42%, the same bytes come out: False")
else:
    scores = run_elsewhere(BY_PICKLE, NEXT_MONTH)
    same = scores.tobytes() == net(test).numpy().tobytes()
    print(f"right: {(scores.argmax(1) == truth).mean():.0%}, the same bytes come out: {same}")

# %% [markdown] slideshow={"slide_type": "skip"}
# The pickle looks for a class of that name. It takes any class that it finds, and puts the old weights into it. With
# next month's class most answers are wrong, and again no message says so.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: eval(), afterwards
#
# You can follow the lesson without what is folded here: what was Python when the graph was recorded.

# %% [markdown] slideshow={"slide_type": "skip"}
# The graph was recorded in one run. Suppose that you forget `net.eval()` before that run. You save the network in
# training mode, load the file, call `eval()` on what was loaded, and ask twice about the same pictures. Are the two
# answers the same?

# %% slideshow={"slide_type": "skip"}
net.train()
mg.save(folder / "training.mg", net, mg.TensorSpec((None, 64), mg.float32))
net.eval()
forgotten = mg.load(folder / "training.mg")
forgotten.eval()
scores, scores_again = forgotten(test).numpy(), forgotten(test).numpy()
kinds = Counter(type(node.op).__name__ for node in forgotten.graph.nodes)
print("random masks in the graph:", kinds["RandomBernoulli"], "of", sum(kinds.values()), "nodes")
print("the same answers:", np.array_equal(scores, scores_again))

# %% [markdown] slideshow={"slide_type": "skip"}
# They are different: `eval()` comes too late. Everything that was Python in the recorded run is decided for good. `if
# self.training` was Python, and the graph has no branch there. In the same way these are gone: `turns`, which can no
# longer be made 3; every `print`; every `if` and `for` on plain numbers. An `if` on a *tensor* stays, because AutoGraph
# makes an operation of it (lesson 11). If you pass an example instead of `TensorSpec((None, 64))`, its length is
# decided for good, too.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: in others' words: ONNX
#
# You can follow the lesson without what is folded here: the network, run by an engine of other people. **ONNX** is a
# list of operations and a file format that many engines read. An **opset** is an edition of the list. A **dynamic
# axis** is an axis whose length each run may choose.

# %% [markdown] slideshow={"slide_type": "skip"}
# `net.mg` needs no source, but it needs minigrad, because `Affine` is a word of ours. ONNX is a list of some 200
# operations, each with a written definition, and a file format for graphs of them. Engines in C++, on phones and in
# browsers read it. The list changes from time to time, so a file states its edition, the *opset*. An engine that is
# older than the opset of a file refuses the file; a newer one reads it.
#
# `mg.onnx.export` writes our ops in ONNX's words. Its word for a product with a bias is `Gemm`.

# %% jupyter={"source_hidden": true} slideshow={"slide_type": "skip"}
import re
from importlib.util import find_spec

HAS_ONNX = all(map(find_spec, ["onnx", "onnxruntime"]))
if not HAS_ONNX:
    print("onnx and onnxruntime are not installed (`python3 start.py add onnx` adds them, 100 MB; a browser cannot).")
    print("The cells that need them show their output from a machine that has them.")
RECORDED = """\
Mul: picture, constant -> Mul
Sub: Mul, constant_1 -> Sub
Gemm: Sub, read.weight, read.bias -> Affine
Tanh: Affine -> Tanh
Gemm: Tanh, think.weight, think.bias -> Affine_1
Tanh: Affine_1 -> Tanh_1
Add: Tanh, Tanh_1 -> Add
Gemm: Add, think.weight, think.bias -> Affine_2
Tanh: Affine_2 -> Tanh_2
Add: Add, Tanh_2 -> Add_1
Gemm: Add_1, answer.weight, answer.bias -> Affine_3
Identity: Affine_3 -> scores"""  # for machines without the onnx package


# %% slideshow={"slide_type": "skip"}
def export(name, **options):
    """Write the network as ONNX, and return the nodes of the file as lines."""
    if not HAS_ONNX:
        return RECORDED.splitlines()
    import onnx

    mg.onnx.export(net, (test[:1],), folder / name, input_names=["picture"], output_names=["scores"], **options)
    nodes = onnx.load(folder / name).graph.node
    return [f"{node.op_type}: {', '.join(node.input)} -> {node.output[0]}" for node in nodes]


lines = export("net.onnx", dynamic_axes={"picture": {0: "batch"}})
print("\n".join(lines))

# %% [markdown] slideshow={"slide_type": "skip"}
# Each line has an op, the names of what it reads, and the name of its result. Our file had numbers for arrows; ONNX has
# names. `think` is there twice again. (`Identity` changes nothing: it gives the result the name that we asked for.)
# Where ONNX has no word for an op, the export writes it in several: what the op's `forward` does, node by node.

# %% [markdown] slideshow={"slide_type": "skip"}
# ONNX Runtime is another engine, in C++, by other people. It knows nothing of minigrad, and does not compute with
# NumPy. It gets the file and the 360 pictures. Both engines compute in float32, which has about seven digits, and the
# scores go up to 14. How far from ours is the farthest of its 3,600 scores: exactly 0, about
# 0.000001, or about 0.01?

# %% slideshow={"slide_type": "skip"}
difference, answers_agree = 2e-6, True  # recorded; measured where ONNX Runtime is installed
if HAS_ONNX:
    import onnxruntime

    session = onnxruntime.InferenceSession(folder / "net.onnx")
    (scores,) = session.run(["scores"], {"picture": test.numpy()})
    difference = np.abs(scores - net(test).numpy()).max()
    answers_agree = np.array_equal(scores.argmax(1), net(test).numpy().argmax(1))
print("the same answer for every picture:", answers_agree)
print("the farthest score is nearer than 0.0001:", difference < 1e-4)
print("the numbers are exactly equal:", bool(difference == 0))

# %% [markdown] slideshow={"slide_type": "skip"}
# The last digits of float32 differ, because the other engine adds up in another order, and computes tanh by another
# approximation. `session.run` takes fetches and feeds, as `Session` did in lesson 09. It *is* define-then-run, and the
# process that runs it needs no Python.

# %% [markdown] slideshow={"slide_type": "skip"}
# Lengths are decided for good in ONNX, too, unless we say otherwise. We exported with `dynamic_axes={"picture": {0:
# "batch"}}`: axis 0 of `picture` is a dynamic axis, named "batch". Without that, the example's shape, (1, 64), is
# part of the file. If it then gets three pictures, ONNX Runtime refuses. An engine that does not check would return
# some numbers.

# %% slideshow={"slide_type": "skip"}
export("one.onnx")
refused = "index: 0 Got: 3 Expected: 1"  # recorded
if HAS_ONNX:
    try:
        onnxruntime.InferenceSession(folder / "one.onnx").run(None, {"picture": test[:3].numpy()})
    except Exception as error:
        refused = re.search("index: .*", str(error))[0]
print("Got invalid dimensions for input: picture, at", refused)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: there and back
#
# You can follow the lesson without what is folded here: ONNX read back into minigrad, and programs that draw such
# files.

# %% [markdown] slideshow={"slide_type": "skip"}
# `mg.onnx.load` reads ONNX files, ours and others', and makes a function of tensors, whose parameters can be trained
# further. Below: out, back, and out again. Do the numbers, the parameters' names and the ops survive?

# %% slideshow={"slide_type": "skip"}
same_numbers, names, again, opset = True, [*net.state_dict()], RECORDED.splitlines(), 21  # recorded
if HAS_ONNX:
    import onnx

    back = mg.onnx.load(folder / "net.onnx")
    same_numbers = np.array_equal(back(test).numpy(), net(test).numpy())
    names = [name for name, _ in back.named_parameters()]
    mg.onnx.export(back, (test[:1],), folder / "again.onnx", dynamic_axes={"picture": {0: "batch"}})
    second_file = onnx.load(folder / "again.onnx")
    again = [f"{node.op_type}:" for node in second_file.graph.node]
    opset = second_file.opset_import[0].version
print("the same bits, back in minigrad:", same_numbers)
print("the same names:", sorted(names) == sorted(net.state_dict()))
print("the same ops:", [line.split(":")[0] for line in again] == [line.split(":")[0] for line in lines])
print("opset", opset)

# %% [markdown] slideshow={"slide_type": "skip"}
# All three survive, the numbers even to the bit, since the same ops of ours ran. An edition matters, because ops
# change: since opset 13 `ReduceSum` gets its axes as an input, and before that as an attribute. (`mg.onnx.export(...,
# opset=20)` writes an older edition, for older engines.)
#
# Three programs show such graphs:
#
# - *Netron* opens `net.onnx`, SavedModel, LiteRT and others, as in the picture below. A click on a box shows
#   attributes, shapes and numbers. Nothing runs.
# - *TensorBoard* shows graphs from an event file, as boxes in boxes: a slash in a name nests it. `SummaryWriter`, with
#   PyTorch's names, writes such files without TensorFlow; `tensorboard --logdir runs` shows them.
# - *torchviz* draws what PyTorch would run *backwards*: its boxes have names like `AddmmBackward0`, and leaves are
#   blue.

# %% slideshow={"slide_type": "skip"}
from graphviz import Digraph
from IPython.display import SVG

from minigrad.draw.layout import layout

drawing = Digraph(graph_attr={"rankdir": "LR", "size": "9", "nodesep": "0.2", "ranksep": "0.25", "bgcolor": "white"})
drawing.attr("node", shape="box", style="rounded,filled", fillcolor="#e8eef7", fontname="Helvetica", fontsize="16")
for line in lines:
    op, inputs, output = re.fullmatch(r"(\w+): (.*) -> (.*)", line).groups()
    inputs = inputs.split(", ")
    drawing.node(output, "\n".join([op] + [name for name in inputs if "." in name]))
    for name in inputs:
        if "." not in name and "constant" not in name:
            drawing.edge(name, output)
SVG(layout(drawing.source))

# %% [markdown] slideshow={"slide_type": "skip"}
# *The picture, in Netron's style: a chain from `picture` at the left to Identity at the right. Each of the four Gemm
# boxes lists a weight and a bias. Two arcs leap over a Gemm and a Tanh to an Add: the skips.*
#
# TensorBoard makes a box `Recogniser` of the names below. It opens into `read`, `think` and `answer`; `think` is one
# box with two products, and an arrow that leaves it and comes back. (The graph itself has no circle.)

# %% slideshow={"slide_type": "skip"}
from minigrad.utils.tensorboard import SummaryWriter

with SummaryWriter(folder / "runs") as writer:
    writer.add_graph(net, test[:1])
(events,) = (folder / "runs").iterdir()
for name in sorted(set(re.findall(rb"Recogniser/\w+/\w+", events.read_bytes()))):
    print(name.decode())

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("24_out_of_python")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# What other frameworks call the things of this lesson, servers and phones, and one of its claims, run in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `net.state_dict()` | the same | `model.get_weights()` | the pytree of parameters |
# | `mg.save(path, net, spec)` | `torch.export.save(ep, path)` | `tf.saved_model.save` | `exported.serialize()` |
# | `mg.load(path)` | `torch.export.load(path).module()` | `tf.saved_model.load` | `jax.export.deserialize(data)` |
# | `TensorSpec((None, 64))` | `Dim("batch")` | `tf.TensorSpec((None, 64))` | `symbolic_shape("b, 64")` |
# | `mg.onnx.export` | `torch.onnx.export` | tf2onnx | jax2onnx |
# | `SummaryWriter.add_graph` | the same | `tf.summary.graph` | none |
#
# `ep` is `torch.export.export(net, (x,), dynamic_shapes=…)`, an ExportedProgram; `exported` is
# `jax.export.export(jax.jit(f))(x)`.

# %% [markdown] slideshow={"slide_type": "skip"}
# Three ways in which TensorFlow's graphs leave Python:
#
# - *TensorFlow Serving* is a server in C++. It reads SavedModels, graph and variables, and runs them without Python and
#   without your source: this lesson's idea, as a product. It takes over a new version while the old one still answers,
#   and collects requests into batches.
# - *LiteRT*, called TensorFlow Lite until 2024, runs models on phones and microcontrollers. A converter writes one
#   `.tflite` file, often in int8 (lesson 19). A small interpreter plans the memory of all tensors before the first run
#   (lesson 14), and then runs the ops in order.
# - *TensorFlow.js* runs models in a browser. A converter writes the graph as `model.json`, with the weights in files
#   next to it. The same graph, with other code for each op: JavaScript, WebAssembly, or the graphics card (lesson 09).
#   The user's data never leave the user's machine.
#
# Other names that you will meet:
#
# | name | what it is today |
# |---|---|
# | SavedModel | TensorFlow's folder: graphs of functions in protobuf, and their variables in files next to them |
# | GraphDef, frozen graph | how TensorFlow 1 stored a graph: history, and still inside SavedModel |
# | TorchScript | PyTorch's compiler of Python to a file: deprecated; `torch.export` has taken its place |
# | ExecuTorch | runs an ExportedProgram on phones and microcontrollers; before it there was PyTorch Mobile |
# | StableHLO | a list of ops with editions, like ONNX; `jax.export` writes it, and XLA compiles it |
# | Triton Inference Server | NVIDIA's server for ONNX, PyTorch, TensorRT and others |
# | safetensors | arrays and names in a file, and no code: what `mg.save` writes, too |

# %% [markdown] slideshow={"slide_type": "skip"}
# ### The same in PyTorch
#
# Weights fit into a class that computes something else, and nobody complains. A careful loader refuses the pickle of a
# whole network. A graph with its arrays gives the same bits, and needs no class.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def files_in_pytorch(torch):
    """
    <All keys matched successfully> the same answers: False
    the pickle of the network: refused
    the same bits from the graph: True
    """
    import io
    import pickle

    nn, x = torch.nn, torch.ones(3, 64)
    net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    guess = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    print(guess.load_state_dict(net.state_dict()), "the same answers:", torch.allclose(guess(x), net(x)))
    torch.save(net, file := io.BytesIO())
    try:
        torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    except pickle.UnpicklingError:
        print("the pickle of the network: refused")
    torch.export.save(torch.export.export(net, (x,)), file := io.BytesIO())
    loaded = torch.export.load(io.BytesIO(file.getvalue())).module()
    print("the same bits from the graph:", torch.equal(loaded(x), net(x)))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Weights fit into many classes, and only one of them is the model. A graph with its arrays needs no class.
# - `mg.save` writes ops by name, arrays, and nothing that runs; in a fresh process the same bytes come out.
# - A pickle is a program: loading is running. A good loader looks things up, and refuses.
# - What was Python is decided when the graph is recorded: turns, mode, and every length that was not left
#   open.
# - What is done before and after the network belongs into the file, too.
# - ONNX is a vocabulary that engines agree on (an optional section). Compare the numbers after every export.
#
# **Sources.** Python Library Reference, *pickle*: the warning at its head, and "Restricting globals". *Safetensors*,
# github.com/huggingface/safetensors, "Format". ONNX, github.com/onnx/onnx, docs/IR.md ("Models", "Graphs") and
# docs/Versioning.md: what opset and IR version promise. J. Reed and others, *Torch.fx: practical program capture and
# transformation for deep learning in Python*, arXiv:2112.08429 (2021), section 2: what capturing keeps. C. Olston and
# others, *TensorFlow-Serving: flexible, high-performance ML serving*, arXiv:1712.06139 (2017), section 2: models as
# files with versions.
#
# **Exercise.** [24 A file of your own](../exercises/24_out_of_python.ipynb): say what each kind of file has kept, run a
# graph from its text, and pack arrays.
#
# **Next:** [25 A small GPT](25_a_small_gpt.ipynb). Before that, change something here: save the network with
# `turns=3`, and compare the two files' sizes. What has grown, and what has not?
