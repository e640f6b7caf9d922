"""Random Python programs on tensors: a function of two vectors and a number, as text, in the control flow of a user.

Branches, loops and jumps in each other, decided by tensors and by Python; numbers that become tensors; edits in place,
and two names for a tensor; closures that read and assign, gradients, lists, comprehensions, `try`, `with`. Every loop
ends, and numbers stay small, so that what two worlds give can be compared. PyTorch's tensors understand them too.
"""

from hypothesis import strategies as st

VECTORS, SCALARS = ["a", "b", "c"], ["s", "t"]
HEAD = ["a, b, c = x * 1, y + 0, x - y", "s, t = x.sum(), y[0] * 1", "k = 0"]
STATE = ", ".join([*VECTORS, *SCALARS, "k"])

vector, scalar = map(st.sampled_from, (VECTORS, SCALARS))
constants = st.sampled_from(["0.5", "2", "-1.5", "k", "n"])

scalars = st.one_of(
    scalar, vector.map("{}.sum()".format), st.builds("{}[{}]".format, vector, st.sampled_from(["0", "-1", "n"])),
    st.builds("({} @ {}).sin()".format, vector, vector),
    st.builds("({} {} {}).tanh()".format, scalar, st.sampled_from("+-*"), scalar | constants),
    st.builds("sum([v * {} for v in {}])".format, scalar, vector), st.builds("max({}, {})".format, scalar, scalar),
    st.builds("wave({}, {})".format, scalar, constants),
)  # fmt: skip
vectors = st.one_of(
    vector,
    st.builds("{}.{}()".format, vector, st.sampled_from(["sin", "tanh", "clone", "relu", "detach"])),
    st.builds("({} {} {}).tanh()".format, vector, st.sampled_from("+-*"), vector | scalar | constants),
    st.builds("turned({}, {})".format, vector, scalar),
    st.builds("{}.flip(0).cumsum(0)".format, vector),
)
plain = st.one_of(
    st.builds("{} {} {}".format, scalar, st.sampled_from(["<", ">", ">="]), scalar | constants),
    st.builds("0.1 < {} < {}".format, scalar, scalar),
    st.builds("({} > {}).any()".format, vector, vector | constants),
    st.builds("{} {} {}".format, st.sampled_from("kn"), st.sampled_from(["<", "!="]), st.sampled_from("12n")),
)
tests = st.recursive(
    plain | st.builds("{} > {}".format, scalar, scalars),
    lambda its: st.builds("({} {} {})".format, its, st.sampled_from(["and", "or"]), its) | its.map("not {}".format),
    max_leaves=2,
)
LOOPS = ["v in {}", "i in range(n)", "v, w in zip({}, b)", "i, v in enumerate({})", "v in [s, {}[1]]",
         "i in range(len({}))", "v in [u * 2 for u in {}]"]  # fmt: skip
FUNCTIONS = {
    "turned(": ["def turned(u, r):", "    if {}:", "        return (u * r).sin()", "    return u - c * 0.1"],
    "wave(": ["wave = lambda u, r: u * r + s if {} else u.tanh()"],
    "moved(": ["def moved(u, r):", "    if {}:", "        u += r"],
}
PLAIN = ["vector", "vector", "scalar", "scalar", "number", "choice", "rotated", "field", "list", "function", "slope"]
EDITS = ["vector", "scalar", "choice", "field", "list", "name", "name", "name", "edit", "edit", "item", "moved"]
EDITS += ["part", "part", "part", "whole"]
LOOKS = ["", "[:]", ".view(3)", ".detach()", ".view(1, 3)[0]", ".view(3, 1).T[0]", ".reshape(3, 1)[:, 0]"]
LOOKS += [".unfold(0, 3, 1)[0]"]
PARTS = ["[0]", "[1:]", "[n]", "[:2]", "[::2]", "[1:][:1]", ".view(3,1)[1]", ".unsqueeze(0).T[2]"]
PARTS += [".view(1, 3).diagonal()"]
BLOCKS = ["if", "if", "for", "while", "endless", "closure", "try", "with"]


def indented(block):
    return [f"    {line}" for line in block]


@st.composite
def blocks(draw, edits, depth=0, loop=False, most=3):
    """Lines that come to an end, with the first jump among them last."""
    lines = []
    for _ in range(draw(st.integers(1, most))):
        lines += draw(statements(edits, depth, loop))
        if lines[-1].split()[0] in ("return", "break", "continue"):
            break
    return lines


@st.composite
def statements(draw, edits, depth, loop):
    kinds = (EDITS if edits else PLAIN) + BLOCKS * (depth < 3) + ["return"] * (depth > 0) + ["break", "continue"] * loop
    inside = lambda loop: indented(draw(blocks(edits, depth + 1, loop)))  # noqa: E731
    otherwise = lambda: ["else:", *inside(loop)] if draw(st.booleans()) else []  # noqa: E731
    turns = f"w{depth}"
    match kind := draw(st.sampled_from(kinds)):
        case "vector":
            return [f"{draw(vector)} = {draw(vectors)}"]
        case "scalar":
            return [f"{draw(scalar)} = {draw(scalars)}"]
        case "slope":
            return [f"{draw(vector)} = slope({draw(scalars)}, {draw(vector)})"]
        case "number":
            return [f"k = k + {draw(st.sampled_from('12'))}"]
        case "choice":
            name, its = draw(st.sampled_from([(vector, vectors), (scalar, scalars)]))
            return [f"{draw(name)} = {draw(its)} if {draw(tests)} else {draw(its)}"]
        case "rotated":
            return [f"{', '.join(draw(st.permutations(VECTORS)))} = {draw(vectors)}, {draw(vectors)}, {draw(vectors)}"]
        case "field":
            return [draw(st.sampled_from([f"o.v = {draw(vectors)}", f"{draw(vector)} = o.v"] + ["o.v += 0.5"] * edits))]
        case "list":
            return [f"p = [{draw(vectors)}, {draw(scalars)}]", f"{draw(vector)}, {draw(scalar)} = p"]
        case "function":
            made = f"lambda u, r={draw(scalar)}: (u * r).sin() + {draw(vector)}"
            return [f"made = {made}", f"{draw(vector)} = made({draw(vector)})"]
        case "name":
            return [f"{draw(vector)} = {draw(vector)}{draw(st.sampled_from(LOOKS))}"]
        case "part":
            y = draw(scalar | constants)
            part = f"{draw(vector)}{draw(st.sampled_from(PARTS))}"
            edit = st.sampled_from([f".mul_({y})", f".add_({y})", ".sin_()", f".fill_({y})", " += ", " *= ", " = "])
            line = f"{part}{(its := draw(edit))}{y if its.endswith(' ') else ''}"
            return [line if its.startswith(".") or part.endswith("]") else f"{part}.add_({y})"]
        case "whole":
            return [f"{draw(vector)}{draw(st.sampled_from(['.sin_()', '.mul_(0.5)', '.neg_()']))}",
                    f"{draw(scalar)} = {draw(vector)}[{draw(st.sampled_from('012'))}]"]  # fmt: skip
        case "edit":
            x, y = draw(st.sampled_from([(vector, vector | scalar | constants), (scalar, scalar | constants)]))
            return [f"{draw(x)} {draw(st.sampled_from('+-*'))}= {draw(y)}"]
        case "item":
            return [f"{draw(vector)}[{draw(st.sampled_from(['0', '1:', 'n']))}] = {draw(scalar)}"]
        case "moved":
            return [f"moved({draw(vector)}, {draw(scalar)})"]
        case "if":
            other = [f"elif {draw(tests)}:", *inside(loop)] if draw(st.booleans()) else []
            return [f"if {draw(tests)}:", *inside(loop), *other, *otherwise()]
        case "for":
            names = draw(st.sampled_from(LOOPS)).format(draw(vector))
            turn = f"{draw(scalar)} = ({draw(scalar)} + {'v' if 'v' in names.split(' in ')[0] else 'i'} * 0.3).sin()"
            return [f"for {names}:", f"    {turn}", *inside(True), *otherwise()]
        case "while":
            head = [f"{turns} = 0", f"while {draw(tests)} and {turns} < 3:", f"    {turns} += 1"]
            return [*head, *inside(True), *otherwise()]
        case "endless":
            leave = draw(st.sampled_from(["break", "return a, s"] if depth else ["break"]))
            head = [f"{turns} = 0", "while True:", f"    {turns} += 1", f"    if {draw(tests)} or {turns} > 3:"]
            return [*head, f"        {leave}", *inside(True)]
        case "closure":
            lines = [line.split("return")[0] + "return" if "return" in line else line for line in inside(False)]
            return [f"def inner{depth}():", f"    nonlocal {STATE}", *lines, f"inner{depth}()"]
        case "try":
            return ["try:", *inside(loop), "finally:", f"    {draw(scalar)} = {draw(scalars)}"]
        case "with":
            return ["with no_grad():", *inside(loop)]
        case "return":
            return [f"return {draw(vectors)}, {draw(scalars)}"]
    return [kind]


@st.composite
def programs(draw, edits=False):
    """The text of f(x, y, n), which gives a vector and a scalar.

    edits    whether tensors are edited in place, and have several names
    """
    body = draw(blocks(edits, most=5))
    head = HEAD + ["o = Namespace(v=y * 2)"] * ("o.v" in " ".join(body))
    for name, lines in FUNCTIONS.items():
        if name in " ".join(body):
            head += [line.format(draw(plain)) for line in lines]
    return "\n".join(["def f(x, y, n):", *indented([*head, *body, "return a + b * c, s - t * k"]), ""])
