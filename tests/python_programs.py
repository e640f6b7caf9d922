"""Random Python programs on tensors: a function of two vectors and a number, as text, in the control flow of a user.

Branches, loops and jumps in each other, decided by tensors and by Python; numbers that become tensors; edits in place
and names for the same tensor; closures that read and assign, comprehensions, `try` and `with`. Every loop ends, and
numbers stay small, so that what two worlds give can be compared. PyTorch's tensors understand them too.
"""

from hypothesis import strategies as st

VECTORS, SCALARS, NUMBERS = ["a", "b", "c"], ["s", "t"], ["k", "n"]
HEAD = ["a, b, c = x * 1, y + 0, x - y", "s, t = x.sum(), y[0] * 1", "k = 0"]

vector, scalar, number = map(st.sampled_from, (VECTORS, SCALARS, NUMBERS))
constants = st.sampled_from(["0.5", "2", "-1.5", "k", "n"])

scalars = st.one_of(
    scalar,
    vector.map("{}.sum()".format),
    st.builds("{}[{}]".format, vector, st.sampled_from(["0", "-1", "n"])),
    st.builds("({} @ {}).sin()".format, vector, vector),
    st.builds("({} {} {}).tanh()".format, scalar, st.sampled_from("+-*"), scalar | constants),
    st.builds("sum([v * {} for v in {}])".format, scalar, vector),
    st.builds("max({}, {})".format, scalar, scalar),
    st.builds("h({}, {})".format, scalar, constants),
)
vectors = st.one_of(
    vector,
    st.builds("{}.{}()".format, vector, st.sampled_from(["sin", "tanh", "clone", "relu"])),
    st.builds("({} {} {}).tanh()".format, vector, st.sampled_from("+-*"), vector | scalar | constants),
    st.builds("g({}, {})".format, vector, scalar),
    st.builds("{}.flip(0).cumsum(0)".format, vector),
    vector.map("{}.detach()".format),
)
tests = st.recursive(
    st.one_of(
        st.builds("{} {} {}".format, scalar, st.sampled_from(["<", ">", ">="]), scalars | constants),
        st.builds("0.1 < {} < {}".format, scalar, scalar),
        st.builds("({} > {}).any()".format, vector, vector | constants),
        st.builds("{} {} {}".format, number, st.sampled_from(["<", "==", "!="]), st.sampled_from(["1", "2", "n"])),
    ),
    lambda its: st.builds("({} {} {})".format, its, st.sampled_from(["and", "or"]), its) | its.map("not {}".format),
    max_leaves=2,
)
import os
WITH = ["with"] * ("NOWITH" not in os.environ)
LOOPS = ["v in {}", "i in range(n)", "v, w in zip({}, b)", "i, v in enumerate({})", "v in reversed({})", "v in [s, {}[1]]",
         "i in range(len({}))", "v in [u * 2 for u in {}]"]  # fmt: skip


def indented(block):
    return [f"    {line}" for line in block]


@st.composite
def blocks(draw, depth=0, loop=False, edits=False, most=4):
    lines = []
    for _ in range(draw(st.integers(1, most))):
        lines += draw(statements(depth, loop, edits))
        if lines[-1].split()[0] in ("return", "break", "continue"):
            break
    return lines


@st.composite
def statements(draw, depth, loop, edits):
    kinds = ["vector", "vector", "scalar", "scalar", "number", "choice", "pair"]
    kinds += ["if", "if", "for", "while", "def", *WITH, "try"] * (depth < 3)
    kinds += ["edit", "item", "name"] * edits + ["return"] * (depth > 0) + ["break", "continue"] * loop
    inside = lambda loop: indented(draw(blocks(depth + 1, loop, edits, 3)))  # noqa: E731
    match kind := draw(st.sampled_from(kinds)):
        case "vector":
            return [f"{draw(vector)} = {draw(vectors)}"]
        case "scalar":
            return [f"{draw(scalar)} = {draw(scalars)}"]
        case "number":
            return [f"k = k + {draw(st.sampled_from('12'))}"]
        case "choice":
            name, its = draw(st.sampled_from([(vector, vectors), (scalar, scalars)]))
            return [f"{draw(name)} = {draw(its)} if {draw(tests)} else {draw(its)}"]
        case "pair":
            return [f"{', '.join(draw(st.permutations(VECTORS)))} = {draw(vectors)}, {draw(vectors)}, {draw(vectors)}"]
        case "if":
            lines = [f"if {draw(tests)}:", *inside(loop)]
            if draw(st.booleans()):
                lines += [f"elif {draw(tests)}:", *inside(loop)]
            return lines + (["else:", *inside(loop)] if draw(st.booleans()) else [])
        case "for":
            head = draw(st.sampled_from(LOOPS)).format(draw(vector))
            use = [f"    {draw(scalar)} = ({draw(scalar)} + {'v' if 'v' in head.split(' in ')[0] else 'i'} * 0.3).sin()"]
            return [f"for {head}:", *use, *inside(True), *(["else:", *inside(loop)] if draw(st.booleans()) else [])]
        case "while":
            w = f"w{depth}"
            return [f"{w} = 0", f"while {draw(tests)} and {w} < 3:", f"    {w} += 1", *inside(True)]
        case "def":
            lines = [line.split("return")[0] + "return" if "return" in line else line for line in inside(False)]
            inner = f"inner{depth}"
            return [f"def {inner}():", f"    nonlocal {', '.join([*VECTORS, *SCALARS, 'k'])}", *lines, "    k = k + 1", f"{inner}()"]
        case "with":
            return ["with no_grad():", *inside(loop)]
        case "try":
            return ["try:", *inside(loop), "finally:", f"    {draw(scalar)} = {draw(scalars)}"]
        case "edit":
            return [f"{draw(vector)} {draw(st.sampled_from('+-*'))}= {draw(vector | scalar | constants)}"]
        case "item":
            return [f"{draw(vector)}[{draw(st.sampled_from(['0', '1:', 'n']))}] = {draw(scalar)}"]
        case "name":
            return [f"{draw(vector)} = {draw(vector)}{draw(st.sampled_from(['', '[:]', '.flip(0)']))}"]
        case "return":
            return [f"return {draw(vectors)}, {draw(scalars)}"]
    return [kind]


@st.composite
def programs(draw, edits=False):
    """The text of f(x, y, n), which gives a vector and a scalar."""
    body = draw(blocks(edits=edits, most=5))
    inner = ["def g(u, r):", f"    if {draw(tests)}:", "        return (u * r).sin()", "    return u - c * 0.1"]
    also = [f"h = lambda u, r: u * r + s if {draw(tests)} else u.tanh()"]
    return "\n".join(["def f(x, y, n):", *indented([*HEAD, *inner, *also, *body, "return a + b * c, s - t * k"]), ""])
