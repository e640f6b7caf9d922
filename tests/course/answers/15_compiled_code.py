{
    "wrong: tiny_compiler: not for an input as the result": {
        'return "': 'returned = lines[0].split(" = ")[0].strip()\n    return "', "return {result}": "return {returned}",
    },
    "right: own_saving: the same again and again":
        {"mg.exp(x) * mg.exp(x)": "x.exp()", "range(4)": "range(6)", "().neg()": "()"},
    "wrong: own_saving: eleven": {"mg.exp(x) * mg.exp(x)": "x.exp()", "range(4)": "range(10)", "().neg() * 1": "()"},
    "wrong: tiny_compiler: each name once, sorted":
        {"join(operands)": "join(dict.fromkeys(operands))", '{result}", ""': '{result}"'},
    "wrong: tiny_compiler: one operand at a time": {"needed.update(operands)": "needed.update(operands[:1])"},
    "wrong: tiny_compiler: always the last": {"return {result}": "return {nodes[-1][0]}"},
    "wrong: few_programs: the largest row by its first number": {"np.repeat(x[-1:]": "np.repeat(x[-1:] + 1e-3"},
    "wrong: wrong_buffer: float32": {"np.multiply(x, w, a)": "np.multiply(x.astype('f4'), w, a)"},
    "right: few_programs: as tensors":
        {"found.append(f(mg.tensor(filled)).item())": "found.append(f(mg.tensor(filled)))"},
    "wrong: own_saving: x is not read": {"mg.exp(x) * mg.exp(x)": "mg.exp(x * 0) * mg.exp(x * 0)"},
    "right: wrong_buffer: a list": {"return loss, b.sum()": "return [float(loss), b.sum()]"},
    "right: worth_it: fractions": "from fractions import Fraction\nfrom_call, product, twenty, shapes, same_shape = Fraction(101), None, False, -29_850_000.0, 269_850",
    "wrong: few_programs: one length too many":
        {"bit_length()": "bit_length()\n        rows = 3 if len(x) == 3 else rows"},
    "wrong: few_programs: filled up with a large number":
        {"np.repeat(x[-1:], rows - len(x), axis=0)": "np.full((rows - len(x), 3), -1.0)"},
}
# %% right: worth_it: computed
from_call, product, twenty, shapes, same_shape = 30150 // 300 + 1, None, 20 * 300 > 30150, 1e3 * (300 - 30150), 269850.0
# %% right: tiny_compiler: a walk that calls itself
def compiled(inputs, nodes, result):
    by_name = {node[0]: node for node in nodes}
    needed = set()

    def need(name):
        if name in by_name and name not in needed:
            needed.add(name)
            for operand in by_name[name][2:]:
                need(operand)

    need(result)
    text = "def program(" + ",".join(inputs) + "):\n"
    for name, function, *operands in nodes:
        if name in needed:
            text += f"  {name}={function}({','.join(operands)})\n"
    return text + "  return " + result
# %% wrong: tiny_compiler: the last node is the result
def compiled(inputs, nodes, result):
    needed, lines = {nodes[-1][0]}, []
    for name, function, *operands in reversed(nodes):
        if name in needed:
            needed.update(operands)
            lines.insert(0, f"    {name} = {function}({', '.join(operands)})")
    return "\n".join([f"def program({', '.join(inputs)}):", *lines, f"    return {result}"])
# %% right: wrong_buffer: by blocks of its own
def step(x, w):
    y = x * w
    np.tanh(y, out=y)
    s = y * y
    loss = float(s.sum())
    np.subtract(1, s, out=s)
    s *= y
    s *= x
    return loss, 2 * s.sum()
# %% right: few_programs: -inf
def judged(f, batches):
    found = []
    for x in batches:
        rows = 1
        while rows < len(x):
            rows *= 2
        filled = np.full((rows, 3), -np.inf)
        filled[: len(x)] = x
        found.append(f(mg.tensor(filled)).item())
    return found
# %% wrong: own_saving: twelve that nobody reads
def f(x):
    for _ in range(12):
        x.exp()
    return x.exp()
# %% wrong: wrong_buffer: for one w
def step(x, w):
    y = np.tanh(x * w, out=np.empty_like(x))
    s = y * y
    loss = s.sum()
    np.subtract(1.0, s, s)
    np.multiply(s, y, s)
    np.multiply(s, x, s)
    return loss, 2 * w / abs(w) * s.sum()
# %% wrong: own_saving: a bend that the inputs do not see
def f(x):
    y = x * 3
    for _ in range(6):
        y = y.neg().neg()
    return y + (x - 100).relu()
