# ---
# jupyter:
#   minigrad:
#     title: A file of your own
#     minutes: 20
#     lesson: 24_out_of_python
#     concepts: [G1, G3, G4]
# ---

# %% [markdown]
# # 24 A file of your own
#
# You say what several kinds of file keep of a network, run a graph from its text, and pack arrays so that nothing is
# lost. About 20 minutes, in three parts; two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import json

import numpy as np

from minigrad.course import check, solution

# %% [markdown]
# ## 1. What is left?
#
# **2 points, 5 minutes.** `net` is the lesson's network, after `eval()`. Six files were written:
#
# - a: `mg.save(path, net.state_dict())`
# - b: `mg.save(path, net, mg.TensorSpec((None, 64)))`
# - c: `mg.onnx.export(net, (x,), path, dynamic_axes={"x": [0]})`. It writes the graph and the arrays as ONNX, a
#   format that engines of other people read.
# - d: `pickle.dump(net, file)`
# - e: `pickle.dump(net.state_dict(), file)`
# - f: a safetensors file, which holds arrays by their names, with the weights of the same network in PyTorch
#
# Write three lists:
#
# - `needs`: six words, for a to f. What do you need besides the file to get answers? `"source"` is the network's own
#   Python code, `"minigrad"` is minigrad and no code of yours, `"engine"` is any engine for such files.
# - `runs`: the letters of the files that could run a stranger's code when they are loaded, pickles by `pickle.load`.
# - `free`: which of `"turns"`, `"rows"`, `"dropout"` and `"weights"` can you still choose or replace after loading b?

# %% answer="what_is_left" points=2 minutes=5
### BEGIN SOLUTION
needs = ["source", "minigrad", "engine", "source", "source", "source"]
runs = ["d", "e"]
free = ["rows", "weights"]
### END SOLUTION

# %%
check("what_is_left")


# %% probes="what_is_left"
def words(said):
    """What is said in a list, in a dictionary by letter, or in text."""
    if hasattr(said, "get"):
        said = [said.get(letter) for letter in "abcdef"]
    if isinstance(said, str):
        said = [word for word in said.replace(",", " ").replace(":", " ").split() if len(word) > 1]
    return [str(word).strip().lower() for word in said]


def beside(letters):
    """What is said to be needed beside these files."""
    said = words(needs)
    return [said["abcdef".index(letter)] for letter in letters] if len(said) == 6 else f"{len(said)} words, and not 6"


def letters(said):
    """Letters in a list, or in text: "de", "d, e", "d and e"."""
    return sorted(set("".join(said).lower().replace("and", "")) & set("abcdef"))


# Hint: `needs`, files a, e and f: these hold arrays. Do arrays say what to compute with them?
beside("aef")
# Hint: `needs`, files b, c and d: which of them holds a graph, and which holds only the name of a class?
beside("bcd")
# Hint: `runs`: for each file, ask who decides which functions are called when it is loaded: the file, or the loader?
letters(runs)
# Hint: `free`: what was Python when b was saved is decided. A length left open and a named array are not.
sorted(words(free))

# %% [markdown] hints="what_is_left"
# 1. Which of the files say that `think` runs twice? Only those answer without the source.
# 2. A pickle is a program, whatever it was made from: the file that you get need not be the one that was written.
# 3. Ask of each thing in b: was it Python (then it is decided), a length that was left open, or an array?

# %% [markdown] shows="what_is_left"
# Arrays do not say what is computed with them, a pickle has only the name of a class, and a graph has the computation.

# %% wrong="what_is_left" misconception="M23"
# Shows: The weights were taken for the model: files of arrays alone were thought to answer.
# Hint: Does the file say tanh or relu? A colleague loaded it into a class of her own; what came out?
needs = {"a": "minigrad", "b": "minigrad", "c": "engine", "d": "source", "e": "source", "f": "engine"}
runs, free = {"d", "e"}, {"rows", "weights"}

# %% wrong="what_is_left"
# Shows: A pickle was thought to have the source of the class with it.
# Hint: What did the fresh process say about `Recogniser`?
needs = {"a": "source", "b": "minigrad", "c": "engine", "d": "minigrad", "e": "source", "f": "source"}
runs, free = {"d", "e"}, {"rows", "weights"}

# %% wrong="what_is_left"
# Shows: A pickle of arrays was thought to be data. The file decides what is called, and not what you hope is in it.
# Hint: How do you know that the file e you got was made by that line?
needs = {"a": "source", "b": "minigrad", "c": "engine", "d": "source", "e": "source", "f": "source"}
runs, free = {"d"}, {"rows", "weights"}

# %% wrong="what_is_left"
# Shows: Any file was thought to run code. Where ops are looked up in a table, nothing of the file is called.
# Hint: `mg.load` looks each op up in a table. What does it do with an op that is not there?
needs = {"a": "source", "b": "minigrad", "c": "engine", "d": "source", "e": "source", "f": "source"}
runs, free = {"b", "c", "d", "e"}, {"rows", "weights"}

# %% wrong="what_is_left"
# Shows: The Python loop was thought to be in the graph, still to be turned more or less often.
# Hint: How many products with the weights of `think` are in the graph?
needs = {"a": "source", "b": "minigrad", "c": "engine", "d": "source", "e": "source", "f": "source"}
runs, free = {"d", "e"}, {"rows", "weights", "turns"}

# %% wrong="what_is_left"
# Shows: ONNX was thought to need what wrote it.
# Hint: ONNX is a format of other people. What do their engines know of minigrad?
needs = {"a": "source", "b": "minigrad", "c": "minigrad", "d": "source", "e": "source", "f": "source"}
runs, free = {"d", "e"}, {"rows", "weights"}

# %% wrong="what_is_left"
# Shows: The mode was thought to be a switch in the graph.
# Hint: What does `eval()` change on what was loaded from a file?
needs = {"a": "source", "b": "minigrad", "c": "engine", "d": "source", "e": "source", "f": "source"}
runs, free = {"d", "e"}, {"rows", "weights", "dropout"}

# %% wrong="what_is_left" misconception="M23"
# Shows: What `mg.save` writes was taken for a graph each time; of a state dict it writes arrays, and nothing else.
# Hint: `mg.load` of file a gives a dictionary: can it be called?
needs, runs, free = ["minigrad", "minigrad", "engine", "source", "source", "source"], ["d", "e"], ["rows", "weights"]

# %% wrong="what_is_left" misconception="M23"
# Shows: Many programs read safetensors, and that was taken to mean that they know what to do with the arrays.
# Hint: Where in f does it say tanh?
needs, runs, free = ["source", "minigrad", "engine", "source", "source", "engine"], ["d", "e"], ["rows", "weights"]

# %% wrong="what_is_left"
# Shows: The weights were thought to be built into the graph, but they are its inputs, kept by name.
# Hint: What would `load_state_dict` do on what was loaded?
needs, runs, free = ["source", "minigrad", "engine", "source", "source", "source"], ["d", "e"], ["rows"]

# %% wrong="what_is_left"
# Shows: The number of rows was thought to be decided.
# Hint: What does `None` stand for in `TensorSpec((None, 64))`?
needs, runs, free = ["source", "minigrad", "engine", "source", "source", "source"], ["d", "e"], ["weights"]

# %% [markdown]
# ## 2. A graph as text
#
# **2 points, 8 minutes.** The next cell makes a graph of nodes. Each node holds the nodes that it reads. The value of
# an `input` is its name, and the value of a `const` is a number.
#
# - Write `as_text(y)`. It returns JSON: a list of rows `[op, numbers, value]`, one for each node. `numbers` are the
#   rows that this row reads, counted from 0. They come before it. The last row is y. A node that is read twice has one
#   row.
# - Write `run(text, feeds)`. It returns the value of the last row. `feeds` is a dictionary of values by the names of
#   inputs.
#
# For the y of that cell one right text is
#
#     [["input", [], "x"], ["const", [], 2.0], ["mul", [0, 1], null], ["tanh", [2], null], ["add", [3, 3], null]]


# %% name="nodes"
class Node:
    def __init__(self, op, *inputs, value=None):
        self.op, self.inputs, self.value = op, inputs, value


OPS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "tanh": np.tanh, "neg": np.negative}

x = Node("input", value="x")
h = Node("tanh", Node("mul", x, Node("const", value=2.0)))
y = Node("add", h, h)


# %% answer="graph_as_text" points=2 minutes=8
def as_text(y):
    ### BEGIN SOLUTION
    rows, number = [], {}

    def visit(node):
        if node not in number:
            for each in node.inputs:
                visit(each)
            number[node] = len(rows)
            rows.append([node.op, [number[each] for each in node.inputs], node.value])

    visit(y)
    return json.dumps(rows)
    ### END SOLUTION


def run(text, feeds):
    ### BEGIN SOLUTION
    values = []
    for op, reads, value in json.loads(text):
        own = feeds[value] if op == "input" else value
        values.append(OPS[op](*(values[i] for i in reads)) if op in OPS else own)
    return values[-1]
    ### END SOLUTION


# %%
check("graph_as_text")

# %% probes="graph_as_text"
from minigrad.draw.picture import Arrow, Box, Picture

GIVEN = '[["input", [], "b"], ["input", [], "a"], ["sub", [1, 0], null], ["const", [], 3.0], ["mul", [2, 3], null]]'


def doubled(times):
    node = Node("input", value="x")
    for _ in range(times):
        node = Node("add", node, node)
    return node


def order(node):
    return json.loads(as_text(node))


@referee
def order(rows):
    """Whether each row reads rows before it, all of them numbers."""
    return all(type(i) is int and 0 <= i < n for n, (_, reads, _) in enumerate(rows) for i in reads)


def long_chain(times):
    first = node = Node("input", value="x")
    for _ in range(times):
        node = Node("add", node, first)
    return node


def graph_of(node):
    """The graph that the text of a node writes down, for drawing."""
    rows = json.loads(as_text(node))
    boxes, arrows = [], []
    for n, (op, reads, value) in enumerate(rows):
        kind = {"input": "leaf", "const": "constant"}.get(op, "op")
        name, number = (value, "") if kind == "leaf" else ("", "" if value is None else f"{value:g}")
        boxes.append(Box(f"b{n}", kind, name, op if kind == "op" else "", "", number, ""))
        arrows += [(f"b{read}", f"b{n}") for read in reads]
    return Picture(tuple(boxes), tuple(Arrow(f"a{i}", *ends) for i, ends in enumerate(arrows)))


A, B = Node("input", value="a"), Node("input", value="b")
DIFFERENCE = Node("sub", Node("neg", A), Node("mul", B, A))
PRODUCTS = Node("sub", Node("mul", A, B), Node("mul", B, B))

# Hint: `run` on a text that we wrote: a row's numbers are the places of the rows that it reads, in the order of its
# operands. For an `input` the value is `feeds[name]`, for a `const` it stands in the row.
round(float(run(GIVEN, {"a": 5.0, "b": 1.0})), 6)
# Hint: `run`: look up each input in `feeds` by its name, not by its place.
round(float(run(GIVEN, {"b": 1.0, "a": 5.0})), 6)
# Hint: `as_text` should return text: `json.dumps(rows)`.
type(as_text(doubled(1))).__name__
# Hint: `as_text`: each node has one row, however many nodes read it. Look up whether a node has its number already.
# Graph: graph_of(doubled(2))
[len(json.loads(as_text(doubled(n)))) for n in (0, 1, 2, 10)]
# Hint: `as_text`: a row may only read rows before it, so write a node's inputs first.
# Graph: graph_of(DIFFERENCE)
order(DIFFERENCE)
# Graph: graph_of(doubled(3))
order(doubled(3))
# Hint: `as_text`: the row of y itself comes last.
# Graph: graph_of(DIFFERENCE)
json.loads(as_text(DIFFERENCE))[-1][0]
# Hint: `as_text` and `run` together change a difference: is the order of the operands kept?
# Graph: graph_of(DIFFERENCE)
round(float(run(as_text(DIFFERENCE), {"a": 5.0, "b": 2.0})), 6)
# Hint: `as_text`: two nodes with the same op are still two nodes if they read different rows.
# Graph: graph_of(PRODUCTS)
round(float(run(as_text(PRODUCTS), {"a": 5.0, "b": 2.0})), 6), len(json.loads(as_text(PRODUCTS)))
# Hint: `as_text` and `run` together: ten doublings of 1.5 are 1536.
round(float(run(as_text(doubled(10)), {"x": 1.5})), 6)
# Hint: `run` on arrays: apply the op to whatever `feeds` holds, and do not turn it into a number.
run(as_text(DIFFERENCE), {"a": np.array([1.0, 2.0]), "b": np.array([0.5, 0.0])}).tolist()
# Hint: A `const` of 0.0, or one with many digits, is a number like any other: test the op, not whether the value is
# true, and keep all digits.
run(as_text(Node("add", Node("const", value=0.0), Node("const", value=1e9 + 1 / 3))), {}) - 1e9
run(as_text(Node("const", value=0)), {})
# Hint: The name of an input may be any text, with spaces and quotation marks in it.
run(as_text(Node("neg", Node("input", value='the "x", [0]'))), {'the "x", [0]': 2.5})
# Hint: A graph may have hundreds of rows, and a row may read one far before it.
run(as_text(long_chain(300)), {"x": 1.0})

# %% [markdown] hints="graph_as_text"
# 1. Visit what a node reads, and then write the node itself: then its inputs already have their numbers.
# 2. A dictionary from node to number tells whether a node has been written. Look there first.
# 3. `run` goes through the rows once, with a list of values; a row's value goes to the end of that list, and what it
# reads is in the list.

# %% [markdown] shows="graph_as_text"
# To store a graph, a file needs its nodes in order, a number for each node, and the name of each op.


# %% wrong="graph_as_text"
# Shows: A node that two others read is written twice: ten doublings make 2047 rows.
# Hint: Before you write a node, look whether it has a number.
def as_text(y):
    rows = []

    def visit(node):
        reads = [visit(each) for each in node.inputs]
        rows.append([node.op, reads, node.value])
        return len(rows) - 1

    visit(y)
    return json.dumps(rows)


def run(text, feeds):
    values = []
    for op, reads, value in json.loads(text):
        kind = {"input": lambda value=value: feeds[value], "const": lambda value=value: value}
        values.append(kind[op]() if op in kind else OPS[op](*(values[i] for i in reads)))
    return values[-1]


# %% wrong="graph_as_text"
# Shows: A node is written before what it reads, so the numbers point forwards.
# Hint: First visit the inputs, then write the row.
def as_text(y):
    nodes = [y]
    for node in nodes:
        nodes.extend(each for each in node.inputs if each not in nodes)
    return json.dumps([[node.op, [nodes.index(each) for each in node.inputs], node.value] for node in nodes])


def run(text, feeds):
    rows = json.loads(text)

    def value_of(i):
        op, reads, value = rows[i]
        return feeds[value] if op == "input" else value if op == "const" else OPS[op](*map(value_of, reads))

    return value_of(0)


# %% wrong="graph_as_text"
# Shows: Nodes of the same op and value were taken for one node, and two that read different rows are not.
# Hint: Keep the numbers by node, not by what the node says of itself.
def as_text(y):
    rows, number = [], {}

    def visit(node):
        key = (node.op, node.value)
        if key not in number:
            reads = [visit(each) for each in node.inputs]
            number[key] = len(rows)
            rows.append([node.op, reads, node.value])
        return number[key]

    visit(y)
    return json.dumps(rows)


def run(text, feeds):
    values = []
    for op, reads, value in json.loads(text):
        kind = {"input": lambda value=value: feeds[value], "const": lambda value=value: value}
        values.append(kind[op]() if op in kind else OPS[op](*(values[i] for i in reads)))
    return values[-1]


# %% wrong="graph_as_text"
# Shows: The operands were sorted on the way, and a − b is not b − a.
# Hint: The numbers of a row stand in the order in which the op takes them.
def as_text(y):
    rows, number = [], {}

    def visit(node):
        if node not in number:
            for each in node.inputs:
                visit(each)
            number[node] = len(rows)
            rows.append([node.op, sorted(number[each] for each in node.inputs), node.value])

    visit(y)
    return json.dumps(rows)


def run(text, feeds):
    values = []
    for op, reads, value in json.loads(text):
        kind = {"input": lambda value=value: feeds[value], "const": lambda value=value: value}
        values.append(kind[op]() if op in kind else OPS[op](*(values[i] for i in sorted(reads))))
    return values[-1]


# %% wrong="graph_as_text"
# Shows: This is a list, but it should be text: a list lives in this process, a text can be sent.
# Hint: `json.dumps(rows)` at the end of `as_text`, and `json.loads(text)` at the beginning of `run`.
def as_text(y):
    rows, number = [], {}

    def visit(node):
        if node not in number:
            for each in node.inputs:
                visit(each)
            number[node] = len(rows)
            rows.append([node.op, [number[each] for each in node.inputs], node.value])

    visit(y)
    return rows


def run(text, feeds):
    values = []
    for op, reads, value in text:
        own = feeds[value] if op == "input" else value
        values.append(OPS[op](*(values[i] for i in reads)) if op in OPS else own)
    return values[-1]


# %% wrong="graph_as_text"
# Shows: Inputs are fed in their order of appearance, and a feed goes by its name.
# Hint: What is the value of an input's row?
def as_text(y):
    rows, number = [], {}

    def visit(node):
        if node not in number:
            for each in node.inputs:
                visit(each)
            number[node] = len(rows)
            rows.append([node.op, [number[each] for each in node.inputs], node.value])

    visit(y)
    return json.dumps(rows)


def run(text, feeds):
    values, fed = [], iter(feeds.values())
    for op, reads, value in json.loads(text):
        values.append(next(fed) if op == "input" else value if op == "const" else OPS[op](*(values[i] for i in reads)))
    return values[-1]


# %% [markdown]
# ## 3. Nothing lost
#
# **2 points, 7 minutes.** Write `pack(arrays)`, which turns a dictionary of NumPy arrays into bytes. Write
# `unpack(data)`, which turns the bytes into a dictionary again. It has the same names in the same order, and the same
# shapes, dtypes and elements.
#
# - Use no pickle.
# - For each array you may use 300 bytes more than its elements and its name take.
#
# One way is eight bytes with the length of a header, `n.to_bytes(8, "little")`, then the header in JSON, then the
# elements. These help: `array.dtype.str`, `array.shape`, `array.tobytes()`, `int.from_bytes(data[:8], "little")` and
# `np.frombuffer(data, dtype).reshape(shape)`.


# %% answer="round_trip" points=2 minutes=7
def pack(arrays):
    ### BEGIN SOLUTION
    header = json.dumps([[name, a.dtype.str, a.shape, a.nbytes] for name, a in arrays.items()]).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in arrays.values())
    ### END SOLUTION


def unpack(data):
    ### BEGIN SOLUTION
    start = 8 + int.from_bytes(data[:8], "little")
    arrays = {}
    for name, dtype, shape, size in json.loads(data[8:start]):
        arrays[name] = np.frombuffer(data[start : start + size], dtype).reshape(shape)
        start += size
    return arrays
    ### END SOLUTION


# %%
check("round_trip")

# %% probes="round_trip"
import numpy as numeric

GRID = numeric.arange(6, dtype="f4").reshape(2, 3) / 7
SETS = {
    "float32": {"read.weight": GRID},
    "two, in order": {"z": GRID, "a": GRID * 3},
    "integers and bools": {"counts": numeric.array([1, -2, 3], "i1"), "mask": numeric.array([[True, False]])},
    "the large byte first": {"sound": numeric.array([1, 258, -3], ">i2")},
    "a transposed one": {"t": GRID.T},
    "no axis": {"step": numeric.array(41.5)},
    "no element": {"none": numeric.zeros((0, 3), "f4"), "after": GRID},
    "no arrays": {},
    "a long name": {"encoder.layers." * 20 + "weight": GRID, "after": GRID * 2},
    "other letters": {"größe, Ω": GRID, "": GRID * 2, 'a "b"\n|c': GRID * 3},
    "very long names": {f"{i}" * 7000: GRID + i for i in range(10)},
    "sixty": {f"layer{i}": GRID[:1, : 1 + i % 3] for i in range(60)},
    "all bytes": {"a": numeric.arange(256, dtype="u1"), "b": numeric.arange(255, -1, -1, dtype="u1")},
    "wide numbers": {"u": numeric.array([2**64 - 1, 0], "u8"), "h": numeric.array([0.1, -0.0], "f2")},
    "large": {"w": numeric.random.default_rng(0).normal(size=(90, 100))},  # which no packing makes much shorter
}


def survives(arrays):
    """What pack gives, the length and two marks of it, and what unpack makes of it."""
    data = pack(arrays)
    if not isinstance(data, bytes | bytearray):
        return type(data).__name__, 0, [], []
    pack({"other": GRID})  # and in between others are packed
    found = [(name, numeric.asarray(b)) for name, b in unpack(data).items()]
    back = [(name, str(b.dtype), b.shape, b) for name, b in found]
    return "bytes", len(data), [data[:1].hex(), data.find(b"_reconstruct")], back


@referee
def survives(sent, arrays):
    kind, length, marks, back = sent
    if kind != "bytes":
        return f"pack gives {kind}, and no bytes"
    if marks[0] == "80" or marks[1] >= 0:
        return "this is a pickle"
    if [name for name, *_ in back] != list(arrays):
        return f"the names are {[name for name, *_ in back]}"
    for (name, a), (_, dtype, shape, elements) in zip(arrays.items(), back):
        if (str(a.dtype), a.shape) != (dtype, tuple(shape)):
            return f"{name} was {a.dtype}{a.shape}, and is {dtype}{tuple(shape)}"
        if a.tolist() != elements:
            return f"{name} has other elements"
    more = length - sum(a.nbytes for a in arrays.values())
    if arrays is SETS["large"] and length < 48_000:
        return f"{length} bytes cannot hold the 72000 of the elements"
    names = sum(len(name.encode()) for name in arrays)
    return "the same" if more <= 300 * (len(arrays) + 1) + 6 * names else f"{more} bytes beside the elements"


# Hint: Names, dtypes and shapes go into the header, in the order of the dictionary; the elements follow in that order.
[survives(SETS[name]) for name in ("float32", "two, in order")]
# Hint: Each array has its own dtype and its own number of bytes: keep both in the header.
survives(SETS["integers and bools"])
# Hint: This dtype writes the large byte of a number first. `array.dtype.str` says so; `array.dtype.name` does not.
survives(SETS["the large byte first"])
# Hint: A transposed array lies in memory in another order: `tobytes()` without an argument gives its elements row by
# row.
survives(SETS["a transposed one"])
# Hint: An array may have no axis, or no element, and the dictionary may be empty.
[survives(SETS[name]) for name in ("no axis", "no element", "no arrays")]
# Hint: The elements go after the header as they are, and 72,000 bytes need a length with more than two bytes.
survives(SETS["large"])
# Hint: The header may be long: with a long name, or with sixty arrays, its length does not fit into one byte.
[survives(SETS[name]) for name in ("a long name", "sixty")]
# Hint: The header may be longer than 65,535 bytes, too: ten names have 7,000 letters each here.
survives(SETS["very long names"])
# Hint: A name may have any letters. The header's length is counted in bytes, after `.encode()`, and a letter such as ö
# takes two. No letter is free to separate one field from the next.
survives(SETS["other letters"])
# Hint: The elements may contain every byte, so no byte can mark where an array ends: keep its length.
[survives(SETS[name]) for name in ("all bytes", "wide numbers")]

# %% [markdown] hints="round_trip"
# 1. What has to be known to read elements again: name, dtype, shape, and how many bytes. Put a row of these for each
# array into a list, and `json.dumps` it.
# 2. `data = length of the header + header + elements one after another`; the last two are bytes, so `.encode()` the
# text.
# 3. When reading, go on by the array's number of bytes after each; `np.frombuffer(piece, dtype).reshape(shape)`.

# %% [markdown] shows="round_trip"
# The format safetensors does the same: names, dtypes and shapes in a header, and then the elements.


# %% wrong="round_trip"
# Shows: The arrays stayed in a variable, and the bytes say nothing of them: no other process could read them.
# Hint: `unpack` has to find everything in `data`.
PACKED = {}


def pack(arrays):
    PACKED["last"] = arrays
    return b"packed"


def unpack(data):
    return PACKED["last"]


# %% wrong="round_trip"
# Shows: The name of a dtype does not say which byte of a number is written first.
# Hint: `array.dtype.str` does: it begins with < or >.
def pack(arrays):
    header = json.dumps([[name, a.dtype.name, a.shape, a.nbytes] for name, a in arrays.items()]).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in arrays.values())


def unpack(data):
    start, arrays = 8 + int.from_bytes(data[:8], "little"), {}
    for name, dtype, shape, size in json.loads(data[8:start]):
        arrays[name] = np.frombuffer(data[start : start + size], dtype).reshape(shape)
        start += size
    return arrays


# %% wrong="round_trip"
# Shows: The elements went into the JSON as text, in base64 or in digits, which takes more bytes than they have.
# Hint: Let the JSON end, and write the elements after it as they are.
def pack(arrays):
    import base64

    said = {name: [a.dtype.str, a.shape, base64.b64encode(a.tobytes()).decode()] for name, a in arrays.items()}
    return json.dumps(said).encode()


def unpack(data):
    import base64

    said = json.loads(data).items()
    return {name: np.frombuffer(base64.b64decode(text), dtype).reshape(shape) for name, (dtype, shape, text) in said}


# %% wrong="round_trip"
# Shows: This is a pickle: it keeps everything, and runs what a stranger's file says.
# Hint: A header in JSON and elements cannot call anything.
def pack(arrays):
    import pickle

    return pickle.dumps(arrays)


def unpack(data):
    import pickle

    return pickle.loads(data)


# %% wrong="round_trip"
# Shows: The numbers were written in decimals: the dtype is lost, and so is the shape of an array without elements.
# Hint: `array.tobytes()` for the elements, and the dtype in the header.
def pack(arrays):
    return json.dumps({name: a.tolist() for name, a in arrays.items()}).encode()


def unpack(data):
    return {name: np.array(a) for name, a in json.loads(data).items()}


# %% wrong="round_trip"
# Shows: The shape is not kept: all arrays come back flat.
# Hint: Put `a.shape` into the header, and reshape.
def pack(arrays):
    header = json.dumps([[name, a.dtype.str, a.nbytes] for name, a in arrays.items()]).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in arrays.values())


def unpack(data):
    start, arrays = 8 + int.from_bytes(data[:8], "little"), {}
    for name, dtype, size in json.loads(data[8:start]):
        arrays[name] = np.frombuffer(data[start : start + size], dtype)
        start += size
    return arrays


# %% wrong="round_trip"
# Shows: All arrays are read as float32, whatever their dtype is.
# Hint: Put `a.dtype.str` into the header.
def pack(arrays):
    header = json.dumps([[name, a.shape] for name, a in arrays.items()]).encode()
    data = b"".join(a.astype("f4").tobytes() for a in arrays.values())
    return len(header).to_bytes(8, "little") + header + data


def unpack(data):
    start, arrays = 8 + int.from_bytes(data[:8], "little"), {}
    for name, shape in json.loads(data[8:start]):
        size = 4 * int(np.prod(shape))
        arrays[name] = np.frombuffer(data[start : start + size], "f4").reshape(shape)
        start += size
    return arrays


# %% wrong="round_trip"
# Shows: The elements of a transposed array were written as they lie in memory, which is another order.
# Hint: `tobytes()` without an argument gives them row by row.
def pack(arrays):
    header = json.dumps([[name, a.dtype.str, a.shape, a.nbytes] for name, a in arrays.items()]).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(a.tobytes(order="A") for a in arrays.values())


def unpack(data):
    start, arrays = 8 + int.from_bytes(data[:8], "little"), {}
    for name, dtype, shape, size in json.loads(data[8:start]):
        arrays[name] = np.frombuffer(data[start : start + size], dtype).reshape(shape)
        start += size
    return arrays


# %% wrong="round_trip"
# Shows: The names were sorted, and the elements were not: each array has those of another.
# Hint: Write header and elements in the same order, that of the dictionary.
def pack(arrays):
    header = json.dumps([[name, a.dtype.str, a.shape, a.nbytes] for name, a in sorted(arrays.items())]).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in arrays.values())


def unpack(data):
    start, arrays = 8 + int.from_bytes(data[:8], "little"), {}
    for name, dtype, shape, size in json.loads(data[8:start]):
        arrays[name] = np.frombuffer(data[start : start + size], dtype).reshape(shape)
        start += size
    return arrays


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. A loader that refuses
#
# **2 points, 9 minutes.** Texts like those of part 2 now come from strangers. Write `load(text)`. It runs nothing. It
# returns the list of rows, or raises `BadFile` with a message. It refuses
#
# - what is no JSON, no list, or an empty list;
# - a row that is not `[op, numbers, value]`;
# - an op that is not in `READS`: the message contains the op's name;
# - a wrong number of rows that an op reads (`READS` says how many): the message contains the op's name;
# - a number that is not the number of an *earlier* row, or is no whole number: the message contains this number. Mind
#   −1, with which Python finds the last element of a list.


# %% name="reads"
class BadFile(ValueError):
    pass


READS = {"input": 0, "const": 0, "add": 2, "sub": 2, "mul": 2, "tanh": 1, "neg": 1}


# %% answer="refuses" points=2 minutes=9
def load(text):
    ### BEGIN SOLUTION
    try:
        rows = json.loads(text)
    except ValueError as reason:
        raise BadFile(f"this is no JSON: {reason}") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile(f"a list of rows is wanted, and this is {rows!r}")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"row {number} is {row!r}, and [op, numbers, value] is wanted")
        op, reads, _ = row
        if not isinstance(op, str) or op not in READS:
            raise BadFile(f"row {number}: {op!r} is no op; known are {', '.join(READS)}")
        if len(reads) != READS[op]:
            raise BadFile(f"row {number}: {op} reads {READS[op]}, and {len(reads)} are given")
        for each in reads:
            if type(each) is not int or not 0 <= each < number:
                raise BadFile(f"row {number} reads {each!r}, which is no row before it")
    return rows
    ### END SOLUTION


# %%
check("refuses")

# %% probes="refuses"
FIRST = '["input", [], "x"], '


def outcome(text, culprit=""):
    """What load gives for a text; or the error that it raises, with the words of its own."""
    try:
        rows = load(text)
        return type(rows).__name__, len(rows) if isinstance(rows, list) else None
    except BadFile as error:
        return "BadFile", str(error)
    except NotImplementedError:
        raise
    except Exception as error:
        return "error", type(error).__name__


def what_runs(text):
    """The ops that are called while `load` reads a text."""
    called, before = [], dict(OPS)
    OPS.update({name: lambda *operands, name=name: called.append(name) or 0.0 for name in before})
    try:
        load(text)
    finally:
        OPS.update(before)
    return called


@referee
def outcome(sent, _, culprit=""):
    """How many rows there are, or whether BadFile refused the text with the culprit's name."""
    match sent:
        case ["BadFile", words]:
            return "refused" if culprit.lower() in words.lower() else f"refused, and {culprit!r} is not in the message"
        case ["error", name]:
            return name
        case ["list", rows]:
            return f"{rows} rows"
    return f"{sent[0]}, and no list of rows"


# Hint: This text is good: `load` should return its list of rows.
outcome(f'[{FIRST}["const", [], 2.5], ["mul", [0, 1], null], ["tanh", [2], null], ["add", [3, 3], null]]')
outcome('[["input", [], "x"]]')
# Hint: `load` should run nothing: it looks at the rows, and calls no op.
what_runs('[["const", [], 1.0], ["neg", [0], null], ["add", [0, 1], null]]')
# Hint: The whole text: refuse what is no JSON, what is no list, and an empty list, each with BadFile.
[
    outcome(text)
    for text in ("pickle", "", "[]", '{"op": "add"}', "3", "null", "true", '"abc"', '{"a": 1, "b": 2, "c": 3}')
]
# Hint: The form of a row: it is a list of three, and its second entry is a list.
[
    outcome(f"[{FIRST}{row}]")
    for row in ("7", "[]", '["tanh", [0]]', '["tanh", 0, null]', "null", '["tanh", [0], null, 1]')
]
[
    outcome(f"[{FIRST}{row}]")
    for row in ('"neg"', '["tanh", "0", null]', '["tanh", {"0": 0}, null]', '{"a": 1, "b": 2, "c": 3}')
]
# Hint: The op: it must be in `READS`, and the message has its name.
outcome(f'[{FIRST}["system", [0], null]]', "system"), outcome('[["eval", [], "1 + 1"]]', "eval")
# Hint: An op may be no text at all. A list or a dictionary cannot be looked up in `READS`: check `isinstance(op, str)`
# first.
[outcome(f"[{FIRST}[{op}, [0], null]]") for op in ('["tanh"]', '{"tanh": 1}', "null", "1")]
# Hint: How many rows an op reads: compare `len(reads)` with `READS[op]`, for every op, `input` included.
outcome(f'[{FIRST}["add", [0], null]]', "add"), outcome(f'[{FIRST}["tanh", [0, 0], null]]', "tanh")
outcome(f'[{FIRST}["input", [0], "y"]]', "input"), outcome(f'[{FIRST}["const", [0], 1.0]]', "const")
# Hint: A number that is read must be that of an earlier row, and the message has this number.
outcome(f'[{FIRST}["tanh", [17], null]]', "17"), outcome(f'[{FIRST}["neg", [2], null], ["neg", [0], null]]', "2")
# Hint: A row must not read itself.
outcome('[["tanh", [0], null]]', "0"), outcome(f'[{FIRST}["add", [0, 1], null]]', "1")
# Hint: −1 is no row, although Python finds the last element of a list with it.
outcome(f'[{FIRST}["tanh", [-1], null]]', "-1")
# Hint: A number that is read must be a whole number: no text, no 0.5, no 0.0, no `true` and no `false`, which Python
# takes for 1 and 0. `type(each) is int` tells.
outcome(f'[{FIRST}["tanh", ["x"], null]]', "x"), outcome(f'[{FIRST}["tanh", [0.5], null]]', "0.5")
[outcome(f'[{FIRST}["tanh", [{index}], null]]', index) for index in ("0.0", "false", "[0]")]
outcome(f'[{FIRST}["neg", [0], null], ["tanh", [true], null]]', "true")
[outcome(f'[{FIRST}["tanh", [{index}], null]]') for index in ("null", "{}", "1e400")]

# %% [markdown] hints="refuses"
# 1. Check from the outside inwards: JSON, a list, each row, its op, how many it reads, each number. Each check may rely
# on those before it.
# 2. `json.loads` raises a ValueError: catch that one, and raise BadFile. For the numbers you need
# `for number, row in enumerate(rows)`.
# 3. A number is good if `type(each) is int and 0 <= each < number`.

# %% [markdown] shows="refuses"
# After these checks `run` reads only rows that are there, and calls nothing but the table's ops.


# %% wrong="refuses"
# Shows: Only the end of the list was looked at: a row may read itself, or a later one.
# Hint: How many rows are before row 3?
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no list of rows")
    for row in rows:
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"{row} is no row")
        if row[0] not in READS or len(row[1]) != READS[row[0]]:
            raise BadFile(f"{row[0]} is no op, or reads another number of rows")
        for each in row[1]:
            if type(each) is not int or not 0 <= each < len(rows):
                raise BadFile(f"{each} is no row")
    return rows


# %% wrong="refuses"
# Shows: A row may read itself.
# Hint: Which number is too large for row 3: 3, or 4?
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"{row} is no row")
        if row[0] not in READS or len(row[1]) != READS[row[0]]:
            raise BadFile(f"{row[0]} is no op, or reads another number of rows")
        for each in row[1]:
            if type(each) is not int or not 0 <= each <= number:
                raise BadFile(f"{each} is no row before")
    return rows


# %% wrong="refuses"
# Shows: That a row's numbers are whole numbers was not asked: text cannot be compared with a number.
# Hint: `type(each) is int`, before it is compared.
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"{row} is no row")
        if row[0] not in READS or len(row[1]) != READS[row[0]]:
            raise BadFile(f"{row[0]} is no op, or reads another number of rows")
        for each in row[1]:
            if each < 0 or each >= number:
                raise BadFile(f"{each} is no row before")
    return rows


# %% wrong="refuses"
# Shows: The text was returned, not the list of rows.
# Hint: What does `json.loads` give?
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"{row} is no row")
        if row[0] not in READS or len(row[1]) != READS[row[0]]:
            raise BadFile(f"{row[0]} is no op, or reads another number of rows")
        for each in row[1]:
            if type(each) is not int or not 0 <= each < number:
                raise BadFile(f"{each} is no row before")
    return text


# %% wrong="refuses"
# Shows: −1 was let in: it is smaller than any number of a row, and finds the last element of a list.
# Hint: A number must be at least 0.
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"{row} is no row")
        if row[0] not in READS or len(row[1]) != READS[row[0]]:
            raise BadFile(f"{row[0]} is no op, or reads another number of rows")
        for each in row[1]:
            if type(each) is not int or each >= number:
                raise BadFile(f"{each} is no row before")
    return rows


# %% wrong="refuses"
# Shows: Only JSON was checked, and what the rows say is believed.
# Hint: Look at each row: its op, how many it reads, and which.
def load(text):
    try:
        return json.loads(text)
    except ValueError as reason:
        raise BadFile(f"no JSON: {reason}") from None


# %% wrong="refuses"
# Shows: It refuses what is bad, and does not say what is bad: a message without the culprit helps nobody.
# Hint: Put the op, or the number, into the message.
def load(text):
    try:
        rows = json.loads(text)
        for number, (op, reads, _) in enumerate(rows):
            assert len(reads) == READS[op]
            assert all(type(each) is int and 0 <= each < number for each in reads)
        assert rows
    except Exception:
        raise BadFile("this file is bad") from None
    return rows


# %% wrong="refuses"
# Shows: What is bad comes up as Python's own errors, such as KeyError, from the middle of the loader.
# Hint: Ask before you use: `if op not in READS`, and raise BadFile.
def load(text):
    rows = json.loads(text)
    for number, (op, reads, _) in enumerate(rows):
        if READS[op] != len(reads):
            raise BadFile(f"{op} reads {len(reads)}")
        for each in reads:
            if not 0 <= each < number:
                raise BadFile(f"{each} is no row before")
    return rows


# %% wrong="refuses"
# Shows: How many rows an op reads was not checked against the table.
# Hint: `READS["add"]` is 2. What does a row with `["add", [0], null]` do when it runs?
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile(f"{row} is no row")
        if row[0] not in READS:
            raise BadFile(f"{row[0]} is no op")
        for each in row[1]:
            if type(each) is not int or not 0 <= each < number:
                raise BadFile(f"{each} is no row before")
    return rows


# %% [markdown]
# ### 5. In ONNX's words
#
# **2 points, 8 minutes.** The next cell has some of ONNX's words. Its `spelled(nodes, x)` runs a list of nodes. Each
# node is a tuple `(word, what it reads, what it gives)`. A node reads names of tensors, or numbers. The last node
# gives `"y"`. (`ReduceSum`, `ReduceMean` and `ReduceMax` go over the last axis, and keep it with length 1.)
#
# Write three operations as such lists:
#
# - `silu`: $x · \sigma(x)$, in at most 2 nodes.
# - `variance`: over the last axis, the mean of the squared distances from the mean, in at most 4 nodes.
# - `softplus`: $\log(1 + e^x)$, in at most 7 nodes. It has to be right for x = 100 and x = −100, too. In float32
#   $e^{100}$ is infinite, but softplus is also $\max(x, 0) + \log(1 + e^{-|x|})$.


# %% name="words"
def over_last(f):
    return lambda a: f(a, axis=-1, keepdims=True)


WORDS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum, "Min": np.minimum,
    "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Neg": np.negative, "Abs": np.abs, "Tanh": np.tanh,
    "Relu": lambda a: np.maximum(a, 0), "Sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "ReduceSum": over_last(np.sum), "ReduceMean": over_last(np.mean), "ReduceMax": over_last(np.max),
}  # fmt: skip


def spelled(nodes, x):
    """What the nodes make of x, in float32."""
    values = {"x": np.asarray(x, np.float32)}
    for word, reads, gives in nodes:
        values[gives] = WORDS[word](*(values[r] if isinstance(r, str) else np.float32(r) for r in reads))
    return values["y"]


relu_of_minus_x = [("Neg", ["x"], "n"), ("Relu", ["n"], "y")]
spelled(relu_of_minus_x, [-2.0, 1.0])

# %% answer="onnx_words" points=2 minutes=8
### BEGIN SOLUTION
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    ("ReduceMean", ["x"], "mean"),
    ("Sub", ["x", "mean"], "off"),
    ("Mul", ["off", "off"], "square"),
    ("ReduceMean", ["square"], "y"),
]
softplus = [
    ("Abs", ["x"], "a"),
    ("Neg", ["a"], "n"),
    ("Exp", ["n"], "e"),
    ("Add", ["e", 1], "s"),
    ("Log", ["s"], "l"),
    ("Relu", ["x"], "r"),
    ("Add", ["r", "l"], "y"),
]
### END SOLUTION

# %%
check("onnx_words")

# %% probes="onnx_words"
import numpy as numeric

ROWS = numeric.array([[-3.0, 0.5, 2.0], [1000.0, 1001.0, 1002.0]], "f4")
POINTS = numeric.array([-20.0, -1.0, 0.0, 0.5, 3.0, 100.0, 500.0, -100.0], "f4")
WORD = {
    "Add": numeric.add, "Sub": numeric.subtract, "Mul": numeric.multiply, "Div": numeric.divide,
    "Max": numeric.maximum, "Min": numeric.minimum, "Exp": numeric.exp, "Log": numeric.log, "Sqrt": numeric.sqrt,
    "Neg": numeric.negative, "Abs": numeric.abs, "Tanh": numeric.tanh, "Relu": lambda a: numeric.maximum(a, 0),
    "Sigmoid": lambda a: 1 / (1 + numeric.exp(-a)),
    "ReduceSum": lambda a: a.sum(-1, keepdims=True), "ReduceMean": lambda a: a.mean(-1, keepdims=True),
    "ReduceMax": lambda a: a.max(-1, keepdims=True),
}  # fmt: skip


def result_of(nodes, *_):
    return nodes


@referee
def result_of(nodes, _, x, right, most):
    """What comes of a spelling: right, too long, a word that is none, or the first place of another number."""
    values = {"x": x}
    with numeric.errstate(all="ignore"):
        for word, reads, gives in nodes:
            if word not in WORD:
                return f"{word} is none of the words"
            missing = [r for r in reads if isinstance(r, str) and r not in values]
            if missing:
                return f"{word} reads {missing[0]}, which no node before it gives"
            operands = [values[r].copy() if isinstance(r, str) else numeric.float32(r) for r in reads]
            values[gives] = WORD[word](*operands)
    if "y" not in values:
        return "no node gives y"
    y = values["y"]
    if y.shape != right.shape:
        return f"its shape is {y.shape}"
    if not numeric.allclose(y, right, rtol=1e-4, atol=1e-5):
        i = int((~numeric.isclose(y, right, rtol=1e-4, atol=1e-5)).argmax())
        return f"another number: {y.flat[i]:.4g} in place of {right.flat[i]:.4g}"
    return "right" if len(nodes) <= most else f"right, in {len(nodes)} nodes"


WIDE = POINTS.astype("f8")
SILU, SOFTPLUS = WIDE / (1 + numeric.exp(-WIDE)), numeric.logaddexp(0, WIDE)
VARIANCE = ROWS.astype("f8").var(-1, keepdims=True)
# Hint: `silu` is x times the sigmoid of x: two nodes, and the last gives "y".
result_of(silu, POINTS, SILU, 2)
# Hint: `variance`: take the mean away from x first, then square, and take the mean of the squares, with its axis kept.
result_of(variance, ROWS, VARIANCE, 4)
# Hint: `softplus` near 0: the sum of max(x, 0) and log(1 + e^(−|x|)).
result_of(softplus, POINTS[:-3], SOFTPLUS[:-3], 7)
# Hint: `softplus` at 100 and 500: e^100 is infinite in float32. Raise e only to −|x|.
result_of(softplus, POINTS[:-1], SOFTPLUS[:-1], 7)
# Hint: `softplus` at −100: the sigmoid of −100 raises e to 100, and gives 0, which has no logarithm.
result_of(softplus, POINTS, SOFTPLUS, 7)

# %% [markdown] hints="onnx_words"
# 1. silu: one node gives the sigmoid, and the next one multiplies it by x.
# 2. variance: a mean, the distances from it, their squares (`Mul` may read one name twice), and their mean.
# 3. softplus: `Abs`, `Neg`, `Exp`, `Add` with 1, `Log`; then `Relu` of x, and the sum of the two.

# %% [markdown] shows="onnx_words"
# What a list of ops has no word for is spelled in other words, and the spelling decides what happens at 100 or 1000.

# %% wrong="onnx_words"
# Shows: softplus as the formula says it, or as −log σ(−x): in float32 e to the 100 is infinite, and so is the result.
# Hint: Raise e to nothing above 0; the `Sigmoid` of −100 raises it to 100.
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "y")]
]
softplus = [("Exp", ["x"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "y")]

# %% wrong="onnx_words"
# Shows: This variance is the mean of squares less the square of the mean: five nodes, and at 1000 float32 lacks digits.
# Hint: Take the mean away first, and square then.
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("Mul", ["x", "x"], "q"), ("ReduceMean", ["q"], "mq"), ("ReduceMean", ["x"], "m")],
    *[("Mul", ["m", "m"], "mm"), ("Sub", ["mq", "mm"], "y")],
]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l")],
    *[("Relu", ["x"], "r"), ("Add", ["r", "l"], "y")],
]

# %% wrong="onnx_words"
# Shows: Sigmoid alone was taken for silu.
# Hint: The sigmoid is multiplied by x.
silu = [("Sigmoid", ["x"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "y")]
]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l")],
    *[("Relu", ["x"], "r"), ("Add", ["r", "l"], "y")],
]

# %% wrong="onnx_words"
# Shows: The squared distances were added up, and not averaged.
# Hint: Which of the three that reduce gives a mean?
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceSum", ["q"], "y")]
]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l")],
    *[("Relu", ["x"], "r"), ("Add", ["r", "l"], "y")],
]

# %% wrong="onnx_words"
# Shows: The words are ours, and an engine knows its own list.
# Hint: Look the words up in WORDS: there is neither Silu nor Square.
silu = [("Silu", ["x"], "y")]
variance = [*[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Square", ["d"], "q"), ("ReduceMean", ["q"], "y")]]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l")],
    *[("Relu", ["x"], "r"), ("Add", ["r", "l"], "y")],
]

# %% wrong="onnx_words"
# Shows: The part max(x, 0) of softplus is missing, and it is nearly all of it for large x.
# Hint: Two things are added at the end.
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "y")]
]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "y")]
]

# %% wrong="onnx_words"
# Shows: softplus was cut off at 100, and should go on: at 500 it is 500.
# Hint: Where x is large, softplus is nearly x itself: which of the words gives that?
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "y")]
]
softplus = [("Exp", ["x"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l"), ("Min", ["l", 100], "y")]

# %% wrong="onnx_words"
# Shows: softplus as x − log σ(x): for −100 the sigmoid raises e to 100 and gives 0, which has no logarithm.
# Hint: The sigmoid of |x| is never small. What are max(x, 0) and −log σ(|x|) together?
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "y")]
]
softplus = [("Sigmoid", ["x"], "s"), ("Log", ["s"], "l"), ("Sub", ["x", "l"], "y")]

# %% wrong="onnx_words"
# Shows: The root was taken: that is the standard deviation.
# Hint: Leave `Sqrt` out.
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "v")],
    ("Sqrt", ["v"], "y"),
]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l")],
    *[("Relu", ["x"], "r"), ("Add", ["r", "l"], "y")],
]

# %% wrong="onnx_words"
# Shows: The last node gives another name than y.
# Hint: The third of the last triple is `"y"`, in each of the lists.
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "silu")]
variance = [
    *[("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "var")]
]
softplus = [
    *[("Abs", ["x"], "a"), ("Neg", ["a"], "n"), ("Exp", ["n"], "e"), ("Add", ["e", 1], "s"), ("Log", ["s"], "l")],
    *[("Relu", ["x"], "r"), ("Add", ["r", "l"], "softplus")],
]

# %% [markdown]
# ## What you have now
#
# A graph as text and arrays as bytes: put together, they are a file format. What would version 2 of it have to say at
# its beginning, so that a loader of version 1 refuses it with a clear word?
#
# **Next**: [25 A small GPT](../lessons/25_a_small_gpt.ipynb).
