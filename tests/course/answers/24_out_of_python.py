{
    "wrong: graph_as_text: the first row's value is given":
        {"values[-1]": "values[0]", "feeds[value]": "feeds.get(value, value)"},
    "wrong: onnx_words: silu in three":
        {'("Mul", ["x", "s"], "y")': '("Mul", ["x", "s"], "p"), ("Mul", ["p", 1], "y")'},
    "wrong: refuses: all is refused": "def load(text):\n    raise BadFile(text)",
    "right: round_trip: bytes that can be edited": {"return len(header)": "return bytearray() + len(header)"},
    "right: onnx_words: softplus by the sigmoid of the absolute value, in five": {
        '("Neg", ["a"], "n"),\n    ("Exp", ["n"], "e"),\n    ("Add", ["e", 1], "s")': '("Sigmoid", ["a"], "s")',
        '("Add", ["r", "l"], "y")': '("Sub", ["r", "l"], "y")',
    },
    "wrong: graph_as_text: a constant of 0 is no constant": {
        'own = feeds[value] if op == "input" else value': 'own = (value if op == "const" and value else 0.5) if op == "const" else feeds.get(value)'
    },
    "wrong: graph_as_text: six digits of a constant":
        {"node.value])": "round(node.value, 6) if isinstance(node.value, float) else node.value])"},
    "wrong: graph_as_text: names without marks":
        {"node.value])": "node.value.replace('\"', '') if isinstance(node.value, str) else node.value])"},
    "wrong: graph_as_text: numbers of one byte":
        {"[number[each] for each in node.inputs]": "[number[each] % 256 for each in node.inputs]"},
    "wrong: graph_as_text: floats alone": {"return values[-1]": "return float(values[-1])"},
    "wrong: round_trip: the length of the header in one byte": {
        "len(header).to_bytes(8": "len(header).to_bytes(1", "start = 8": "start = 1", "data[:8]": "data[:1]",
        "data[8:start]": "data[1:start]",
    },
    "wrong: round_trip: the length of the header in one byte, cut off": {
        "len(header).to_bytes(8": "(len(header) % 256).to_bytes(1", "start = 8": "start = 1", "data[:8]": "data[:1]",
        "data[8:start]": "data[1:start]",
    },
    "wrong: round_trip: a header of at most 1024 bytes": {
        'return len(header).to_bytes(8, "little") + header': "return header[:1024].ljust(1024)",
        'start = 8 + int.from_bytes(data[:8], "little")': "start = 1024", "data[8:start]": "data[:start]",
    },
    "wrong: round_trip: letters counted for bytes":
        {"arrays.items()]).encode()": "arrays.items()], ensure_ascii=False)", "+ header +": "+ header.encode() +"},
    "wrong: round_trip: no name that is empty":
        {"for name, a in arrays.items()]": "for name, a in arrays.items() if name]"},
    "wrong: round_trip: lengths of two bytes": {"a.nbytes]": "a.nbytes % 65536]"},
    "wrong: refuses: true is taken for 1": {"type(each) is not int": "not isinstance(each, int)"},
    "wrong: refuses: 0.0 is a whole number":
        {"type(each) is not int": "isinstance(each, bool) or not isinstance(each, int | float) or each != int(each)"},
    "wrong: refuses: an op that cannot be looked up": {"not isinstance(op, str) or op": "op"},
    "wrong: refuses: numbers in a dictionary": {" or not isinstance(row[1], list)": ""},
    "wrong: refuses: a text of three letters is a row": {"not isinstance(row, list) or len(row)": "len(row)"},
    "wrong: refuses: inputs may read": {"if len(reads) != READS[op]": "if READS[op] and len(reads) != READS[op]"},
    "wrong: refuses: null is no rows": {"if not isinstance(rows, list) or not rows:": "if not rows:"},
    "wrong: refuses: one row at a time": {"or not rows:": "or not rows or len(rows) < 2:"},
    "right: refuses: a set of known ops":
        {"type(each) is not int": "isinstance(each, bool) or not isinstance(each, int)"},
    "wrong: round_trip: the length of the header in two bytes": {
        "len(header).to_bytes(8": "len(header).to_bytes(2", "start = 8": "start = 2", "data[:8]": "data[:2]",
        "data[8:start]": "data[2:start]",
    },
    "wrong: refuses: it runs what it loads": {
        "return rows": "values = []\n    for op, reads, value in rows:\n        values.append(OPS[op](*(values[i] for i in reads)) if op in OPS else 0.0)\n    return rows"
    },
    "right: graph_as_text: indented":
        {"return json.dumps(rows)": "return json.dumps([tuple(row) for row in rows], indent=2)"},
    "right: what_is_left: sets": 'needs, runs, free = ("source", "minigrad", "engine", "source", "source", "source"), {"e", "d"}, ("weights", "rows")',
}
# %% right: what_is_left: by kind, and lists in place of sets
needs = dict.fromkeys("adef", "source") | {"b": "minigrad", "c": "engine"}
runs, free = ["e", "d"], ["weights", "rows"]
# %% right: what_is_left: texts
needs = "a: source, b: minigrad, c: engine, d: source, e: source, f: source"
runs, free = "d and e", "Weights, rows"
# %% wrong: what_is_left: five words
needs, runs, free = ["source", "minigrad", "engine", "source", "source"], "de", ["rows", "weights"]
# %% wrong: what_is_left: all that is open is the number of rows
needs = dict.fromkeys("adef", "source") | {"b": "minigrad", "c": "engine"}
runs, free = {"d", "e"}, {"rows"}
# %% right: graph_as_text: without recursion, and run by a dictionary
def as_text(y):
    order, waiting = [], [y]
    while waiting:
        node = waiting[-1]
        left = [each for each in node.inputs if each not in order]
        if left:
            waiting += left
        else:
            waiting.pop()
            if node not in order:
                order.append(node)
    rows = [(node.op, [order.index(each) for each in node.inputs], node.value) for node in order]
    return json.dumps(rows, indent=1)


def run(text, feeds):
    known = {}
    for number, (op, reads, value) in enumerate(json.loads(text)):
        if op in ("input", "const"):
            known[number] = feeds[value] if op == "input" else value
        else:
            known[number] = OPS[op](*[known[each] for each in reads])
    return known[number]
# %% right: round_trip: NumPy's own zip
def pack(arrays):
    import io

    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def unpack(data):
    import io

    with np.load(io.BytesIO(data)) as archive:
        return {name: archive[name] for name in archive.files}
# %% right: round_trip: a line for each array, and its elements behind it
def pack(arrays):
    return b"".join(
        json.dumps([name, str(a.dtype), list(a.shape), a.nbytes]).encode() + b"\n" + a.tobytes()
        for name, a in arrays.items()
    )


def unpack(data):
    arrays = {}
    while data:
        line, _, data = data.partition(b"\n")
        name, dtype, shape, size = json.loads(line)
        arrays[name] = np.frombuffer(data[:size], dtype).reshape(shape)
        data = data[size:]
    return arrays
# %% wrong: round_trip: in hexadecimal
def pack(arrays):
    said = {name: [a.dtype.str, a.shape, a.tobytes().hex()] for name, a in arrays.items()}
    return json.dumps(said).encode()


def unpack(data):
    return {n: np.frombuffer(bytes.fromhex(h), d).reshape(s) for n, (d, s, h) in json.loads(data).items()}
# %% wrong: round_trip: the arrays are remembered by the bytes that were given for them
REMEMBERED = []


def pack(arrays):
    REMEMBERED.append(arrays)
    return b"the last one"


def unpack(data):
    return REMEMBERED[-1]
# %% right: onnx_words: other ways
silu = [("Sigmoid", ["x"], "gate"), ("Mul", ["gate", "x"], "y")]
variance = [
    ("ReduceMean", ["x"], "m"), ("Sub", ["m", "x"], "d"), ("Mul", ["d", "d"], "d2"), ("ReduceMean", ["d2"], "y"),
]
softplus = [
    ("Neg", ["x"], "m"), ("Min", ["x", "m"], "a"), ("Exp", ["a"], "e"), ("Add", [1.0, "e"], "s"), ("Log", ["s"], "l"),
    ("Max", ["x", 0], "r"), ("Add", ["l", "r"], "y"),
]
# %% right: refuses: one place that raises
def load(text):
    def want(well, said):
        if not well:
            raise BadFile(said)

    try:
        rows = json.loads(text)
    except json.JSONDecodeError:
        rows = None
    want(isinstance(rows, list) and len(rows) > 0, "no rows")
    for i, row in enumerate(rows):
        want(isinstance(row, list) and len(row) == 3, f"{i}: {row}")
        op, reads, value = row
        want(isinstance(op, str) and op in READS, f"no op {op}")
        want(isinstance(reads, list) and len(reads) == READS[op], f"{op} reads {reads}")
        for each in reads:
            want(type(each) is int and each in range(i), f"no row {each} before {i}")
    return rows
# %% wrong: refuses: an op is looked for among the keys of another table
def load(text):
    try:
        rows = json.loads(text)
    except ValueError:
        raise BadFile("no JSON") from None
    if not isinstance(rows, list) or not rows:
        raise BadFile("no rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[1], list):
            raise BadFile("no row")
        if row[0] in OPS and len(row[1]) != READS[row[0]]:
            raise BadFile(f"{row[0]}")
        for each in row[1]:
            if type(each) is not int or not 0 <= each < number:
                raise BadFile(f"{each}")
    return rows
# %% wrong: onnx_words: a name that nothing gives
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "t"], "y")]
variance = softplus = silu
# %% right: round_trip: NumPy's own zip, and shorter
def pack(arrays):
    import io

    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def unpack(data):
    import io

    with np.load(io.BytesIO(data)) as archive:
        return {name: archive[name] for name in archive.files}
# %% wrong: round_trip: a number for each, and the arrays stay in a dictionary
KEPT = {}


def pack(arrays):
    KEPT[str(len(KEPT))] = arrays
    return str(len(KEPT) - 1).encode()


def unpack(data):
    return KEPT[data.decode()]
# %% wrong: onnx_words: softplus as x less the logarithm of its sigmoid
silu = [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]
variance = [("ReduceMean", ["x"], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), ("ReduceMean", ["q"], "y")]
softplus = [("Sigmoid", ["x"], "s"), ("Log", ["s"], "l"), ("Sub", ["x", "l"], "y")]
# %% wrong: round_trip: fields between bars
def pack(arrays):
    rows = [f"{name}|{a.dtype.str}|{','.join(map(str, a.shape))}|{a.nbytes}" for name, a in arrays.items()]
    header = "\n".join(rows).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in arrays.values())


def unpack(data):
    start, arrays = 8 + int.from_bytes(data[:8], "little"), {}
    for row in data[8:start].decode().split("\n") if start > 8 else []:
        name, dtype, shape, size = row.split("|")
        shape = [int(n) for n in shape.split(",") if n]
        arrays[name] = np.frombuffer(data[start : start + int(size)], dtype).reshape(shape)
        start += int(size)
    return arrays
# %% wrong: round_trip: a mark between the arrays
def pack(arrays):
    header = json.dumps([[name, a.dtype.str, a.shape] for name, a in arrays.items()]).encode()
    return b"\xfe\xff".join([header, *(a.tobytes() for a in arrays.values())])


def unpack(data):
    header, *pieces = data.split(b"\xfe\xff")
    return {
        name: np.frombuffer(piece, dtype).reshape(shape)
        for (name, dtype, shape), piece in zip(json.loads(header), pieces)
    }
# %% right: round_trip: lists, and a header with its end marked
def pack(arrays):
    header = json.dumps({"names": [*arrays], "rows": [(a.dtype.str, a.shape) for a in arrays.values()]})
    return bytes(header, "utf8") + b"\0" + b"".join(a.tobytes("C") for a in arrays.values())


def unpack(data):
    header, _, rest = bytes(data).partition(b"\0")
    header, at, arrays = json.loads(header), 0, {}
    for name, (dtype, shape) in zip(header["names"], header["rows"]):
        n = int(np.prod(shape, dtype=int))
        arrays[name] = np.frombuffer(rest, dtype, n, at).reshape(shape).copy()
        at += arrays[name].nbytes
    return arrays
