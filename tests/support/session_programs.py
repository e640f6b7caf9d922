"""Random programs of effects for sessions: assignments, prints, Python functions, branches, loops, and waits.

A program is a Python function of L, a library. With `Static` it builds a session's graph; with `Sequential` each line
runs at once, on floats, by these rules:

    an assignment changes what the variable holds now
    a read inside a control_dependencies block gives what the variable holds now
    a read outside all blocks gives what it held when the run began, unless the branch or loop around it assigns it
"""

import io
from contextlib import contextmanager
from random import Random

import minigrad as mg

FIRST = {"v": 1.0, "w": -2.0, "u": 3.0}
G = mg.graph


class Sequential:
    """The reference: one run, line by line."""

    def __init__(self, values):
        self.start, self.now, self.log = dict(values), dict(values), []
        self.waits, self.edits = 0, frozenset()

    def read(self, name, how):
        return (self.now if self.waits or name in self.edits else self.start)[name]

    def assign(self, name, value):
        self.now[name] = value
        return value

    def add(self, name, value):
        return self.assign(name, self.now[name] + value)

    def show(self, value):
        self.log.append(f"{value}")
        return value

    def call(self, value):
        self.log.append(f"f({value})")
        return value * 0.5 + 1

    def say(self, word):
        self.log.append(word)

    def group(self, *handles):
        return None

    @contextmanager
    def after(self, *handles):
        self.waits += 1
        yield
        self.waits -= 1

    @contextmanager
    def editing(self, edits):
        before, self.edits = self.edits, self.edits | set(edits)
        yield
        self.edits = before

    def cond(self, pred, true, false, edits):
        with self.editing(edits):
            return true() if pred else false()

    def loop(self, kind, turns, body, a, edits):
        with self.editing(edits):
            for _ in range(turns):
                a = body(a)
        return a


class Static:
    """A session's graph."""

    def __init__(self):
        self.file, self.calls = io.StringIO(), []
        self.variables = {name: mg.Variable(value, name=name) for name, value in FIRST.items()}

    def read(self, name, how):
        v = self.variables[name]
        return {"itself": lambda: v, "value": v.read_value, "copy": lambda: G.identity(v)}[how]()

    def assign(self, name, value):
        return self.variables[name].assign(value)

    def add(self, name, value):
        return self.variables[name].assign_add(value)

    def show(self, value):
        return mg.print(value, file=self.file)

    def call(self, value):
        def f(x):
            print(f"f({x})", file=self.file)
            return x * 0.5 + 1

        return G.py_func(f, [value])

    def say(self, word):
        return mg.print(word, file=self.file)

    def group(self, *handles):
        return G.group(*handles)

    def after(self, *handles):
        return G.control_dependencies(handles)

    def cond(self, pred, true, false, edits):
        return mg.cond(pred, true, false)

    def loop(self, kind, turns, body, a, edits):
        n = G.placeholder_with_default(turns, ()) if kind == "while" else turns
        if kind == "scan":
            return mg.lax.scan(lambda a, _: (body(a), None), a, length=turns)[0]
        if kind == "fori":
            return mg.lax.fori_loop(0, turns, lambda i, a: body(a), a)
        return mg.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, body(a)), (0, a))[1]


class Writer:
    """Writes a program.

    chained    whether each line waits for the one before it, and only the last is fetched
    values     the names of values, by scope; a scope sees those of the scopes around it
    ops        the names of ops of the outermost scope, for which a block can wait
    """

    def __init__(self, random, chained):
        self.random, self.chained = random, chained
        self.lines, self.values, self.ops, self.count = [], [["x"]], [], 0

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def write(self, depth, line):
        self.lines.append("    " * depth + line)

    def atom(self):
        names = [name for scope in self.values for name in scope]
        how = self.random.choice(["itself", "value", "copy"])
        read = f'L.read("{self.random.choice([*FIRST])}", "{how}")'
        return self.random.choice([read, read, self.random.choice(names), str(self.random.randint(-3, 3) * 1.0)])

    def expression(self):
        first = self.random.choice([f'L.read("{self.random.choice([*FIRST])}", "itself")', self.values[-1][-1]])
        return f"{first} * 0.5 {self.random.choice('+-')} {self.atom()}"

    def waits(self, most=2):
        """The handles that a block waits for: at least one of the outermost scope, perhaps in a group made here."""
        names = [self.random.choice(self.ops) for _ in range(self.random.randint(1, most))]
        local = [name for scope in self.values[1:] for name in scope]
        names += [self.random.choice(local)] if local and self.random.random() < 0.3 else []
        return f"L.group({', '.join(names)})" if self.random.random() < 0.4 else ", ".join(names)

    def statement(self, depth, level, edits):
        """One statement, and the name of its handle."""
        kinds = ["assign", "add", "add", "value", "show", "call", "say", "group"]
        kinds += ["cond", "cond", "loop", "loop", "after", "after"] if level < 2 else []
        kind = self.random.choice(kinds)
        h = self.name("h")
        target = self.random.choice([*FIRST])
        match kind:
            case "assign" | "add":
                edits.add(target)
                self.write(depth, f'{h} = L.{kind}("{target}", {self.expression()})')
            case "value":
                self.write(depth, f"{h} = {self.expression()}")
            case "show" | "call":
                self.write(depth, f"{h} = L.{kind}({self.expression()})")
            case "say":
                self.write(depth, f'{h} = L.say("{h}")')
            case "group" if self.ops:
                self.write(depth, f"{h} = L.group({self.waits()})")
            case "after" if self.ops:
                self.write(depth, f"with L.after({self.waits()}):")
                alone = self.chained and len(self.values) == 1  # two lines of a block do not wait for each other
                return self.block(depth + 1, level + 1, edits, 1 if alone else self.random.randint(1, 3))
            case "cond" | "loop":
                self.structure(kind, h, depth, level, edits)
            case _:
                self.write(depth, f"{h} = {self.expression()}")
                kind = "value"
        if kind not in ("say", "group"):
            self.values[-1].append(h)
        if len(self.values) == 1:
            self.ops.append(h)
        return h

    def structure(self, kind, h, depth, level, edits):
        """A branch or a loop."""
        own, names = set(), []
        pred = f"{self.expression()} > {self.random.randint(-2, 3)}.0"
        for part in ("true", "false") if kind == "cond" else ("body",):
            names.append(f"{part}_{h}")
            argument = self.name("a") if kind == "loop" else ""
            self.write(depth, f"def {names[-1]}({argument}):")
            self.values.append([argument] if argument else [self.values[-1][-1]])
            inner = depth + 1
            if self.ops and (self.chained or self.random.random() < 0.5) and (level == 0 or self.random.random() < 0.5):
                last = [self.ops[-1]] if self.chained and level == 0 else []
                self.write(inner, f"with L.after({', '.join([*last, self.waits()])}):")
                inner += 1
            self.block(inner, level + 1, own, self.random.randint(1, 3))
            self.write(inner, f"return {self.expression()}")
            self.values.pop()
        edits |= own
        edited = repr(sorted(own))
        if kind == "cond":
            self.write(depth, f"{h} = L.cond({pred}, {', '.join(names)}, {edited})")
        else:
            way, turns = self.random.choice(["while", "fori", "scan"]), self.random.randint(1, 3)
            self.write(depth, f'{h} = L.loop("{way}", {turns}, {names[0]}, {self.expression()}, {edited})')

    def block(self, depth, level, edits, count):
        return [self.statement(depth, level, edits) for _ in range(count)][-1]

    def program(self):
        """The text of a program, which returns the handles to fetch."""
        self.write(0, "def program(L, x):")
        for _ in range(self.random.randint(2, 6)):
            depth = 1
            if self.chained and self.ops:
                self.write(1, f"with L.after({self.ops[-1]}):")
                depth = 2
            self.statement(depth, 0, set())
        fetched = self.ops[-1:] if self.chained else self.ops
        self.write(1, f"return [{', '.join(fetched)}]")
        return "\n".join(self.lines)


def text_of(seed):
    """The text of the program of this seed."""
    random = Random(seed)
    return Writer(random, random.random() < 0.5).program()


def trouble(text, jit_compile=False):
    """How two runs in a session differ from the reference; None if they do not."""
    space = {}
    exec(text, space)
    graph = mg.Graph()
    with graph.as_default():
        x = mg.placeholder("float64", ())
        static = Static()
        fetches = space["program"](static, x)
        start = G.global_variables_initializer()
    held = dict(FIRST)
    with mg.Session(graph, jit_compile=jit_compile) as session:
        session.run(start)
        for fed in (2.0, -1.5):
            reference = Sequential(held)
            expected = space["program"](reference, fed)
            held = reference.now
            static.file.seek(0)
            static.file.truncate()
            found = session.run(fetches, {x: fed})
            seen = [None if e is None else float(y) for e, y in zip(expected, found)]
            after = {name: float(session.run(v)) for name, v in static.variables.items()}
            log = static.file.getvalue().splitlines()
            for what, one, other in (
                ("results", seen, expected), ("variables", after, held), ("log", log, reference.log),
            ):  # fmt: skip
                if one != other:
                    return f"fed {fed}, {what}: {one}, and the reference has {other}"
    return None
