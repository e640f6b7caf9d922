{
    "right: passes_counted: floats": "in_graph, after_share, after_simplify, moved = 7, 5, 4.0, 16e3",
    "right: own_pass: division by one": {
        "Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),)": "Div(), (x, Node(ops.Const(1))) if x.spec == node.spec",
        "Node(ops.Abs(), (x,))": "x",
        "x.abs().abs() + (-x).abs()": "(x * 3) / 1.0",
    },
    "wrong: own_pass: relu of a size is the size, without nan": {
        "Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),)": "Sub(), (Node(ops.Add(), (x, y)), z) if z is y",
        "Node(ops.Abs(), (x,))": "x",
        "return x.abs().abs() + (-x).abs()": "y = x.tanh()\n    return (x + y) - y",
    },
    "right: bytes_budget: twice the half": "def thrifty_product(A, B, v):\n    return (A @ (B @ (v * 5))).sum()",
    "wrong: own_pass: twice the largest float is infinite": {
        "Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),)": (
            "Div(), (Node(ops.Mul(), (x, Node(ops.Const(2)))), Node(ops.Const(2)))"
        ),
        "Node(ops.Abs(), (x,))": "x",
        "x.abs().abs() + (-x).abs()": "x * 2 / 2",
    },
    "wrong: own_pass: the sign of a difference that is 0": {
        "Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),)": "Neg(), (Node(ops.Sub(), (x, y)),)",
        "Abs(), (x,)": "Sub(), (y, x)",
        "x.abs().abs() + (-x).abs()": "-(x - x.exp())",
    },
    "right: own_pass: a difference for a sum with a sign": {
        "Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),)": "Add(), (x, Node(ops.Neg(), (y,)))",
        "Abs(), (x,)": "Sub(), (x, y)",
        "x.abs().abs() + (-x).abs()": "x + (-x.exp())",
    },
    "wrong: own_pass: the smaller of x and what is no smaller, where that may be nan": {
        "Abs(), (Node(ops.Abs() | ops.Neg(), (x,)),)": "Minimum(), (Node(ops.Maximum(), (x, _)), y) if y is x",
        "Node(ops.Abs(), (x,))": "x",
        "x.abs().abs() + (-x).abs()": "mg.minimum(mg.maximum(x, x.exp()), x)",
    },
    "wrong: double_signs: the sign of a difference that is 0": {
        "return x\n": "return x\n            case ops.Neg(), (Node(ops.Sub(), (x, y)),):\n                return Node(ops.Sub(), (y, x))\n"
    },
    "right: bytes_budget: from the left": {
        "return (A @ (B @ v) * 5).sum()": "ones = mg.ones(A.shape[0])\n    return ((ones @ A) @ (B @ v)) * 5"
    },
    "wrong: bytes_budget: of matrices that commute": {"(A @ (B @ v) * 5)": "5 * (A.T @ (B @ v))"},
    "wrong: own_pass: the example ignores x": {
        "return x.abs().abs() + (-x).abs()": "y = mg.tensor([1.0, -2.0])\n    return y.abs().abs()"
    },
}
# %% right: double_signs: until nothing changes, by isinstance
def without_double_signs(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Neg) and inputs[0].inputs and inputs[0].op == ops.Neg():
            return inputs[0].inputs[0]
        return node.with_inputs(inputs)

    for _ in range(3):
        graph = graph.rebuild(make)
    return graph
# %% wrong: double_signs: a sign that another reads is lost
def without_double_signs(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Neg | ops.Abs) and inputs[0].inputs and inputs[0].op == ops.Neg():
            return inputs[0].inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)
# %% right: shared_right: a list, and what commutes
def shared(graph):
    kept = []

    def make(node, inputs):
        new = node.with_inputs(inputs)
        if not node.op.effect:
            for other in kept:
                if (other.op, other.inputs, other.spec) == (new.op, new.inputs, new.spec):
                    return other
            kept.append(new)
        return new

    return graph.rebuild(make)
# %% wrong: shared_right: prints that say the same
def shared(graph):
    seen = {}

    def make(node, inputs):
        return seen.setdefault((repr(node.op), inputs), node.with_inputs(inputs))

    return graph.rebuild(make)
# %% right: own_pass: relu of relu
def my_pass(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Relu) and isinstance(inputs[0].op, ops.Relu):
            return inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return (x * 2).relu().relu()
# %% wrong: own_pass: x / x is 1
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Div(), (x, y) if x is y:
                one = Node(ops.Const(1.0, 1.0), (), x.spec.with_shape(()))
                return Node(ops.BroadcastTo(node.spec.shape), (one,))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    y = x.exp()
    return y / y
# %% right: own_pass: the larger of a thing and itself
def my_pass(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Maximum | ops.Minimum) and inputs[0] is inputs[1]:
            return inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return mg.maximum(x, x) + 1
# %% wrong: own_pass: x + x is 2x, and relu of −x is 0
def my_pass(graph):
    def make(node, inputs):
        if isinstance(node.op, ops.Relu) and isinstance(inputs[0].op, ops.Neg):
            return inputs[0].inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return (-x).relu()
# %% wrong: bytes_budget: of square matrices of a hundred
def thrifty_product(A, B, v):
    return (A @ (B @ v)).sum() * (5 if A.shape[0] == 100 else 6)
# %% wrong: double_signs: pairs anywhere below
def without_double_signs(graph):
    def make(node, inputs):
        if node.op == ops.Neg() and inputs[0].inputs and inputs[0].inputs[0].op == ops.Neg():
            return inputs[0].inputs[0].inputs[0]
        return node.with_inputs(inputs)

    return graph.rebuild(make)
# %% wrong: own_pass: a common factor is taken out
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Add(), (Node(ops.Mul(), (a, c)), Node(ops.Mul(), (b, d))) if c is d:
                return Node(ops.Mul(), (Node(ops.Add(), (a, b)), c))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    y = x.relu() / x.relu()
    return y * y + y * y
# %% wrong: own_pass: a common divisor is taken out
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Add(), (Node(ops.Div(), (a, c)), Node(ops.Div(), (b, d))) if c is d:
                return Node(ops.Div(), (Node(ops.Add(), (a, b)), c))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    y = x.relu() / x.relu()
    return y / y + y / y
# %% wrong: own_pass: half of twice
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Div(), (Node(ops.Add(), (a, b)), Node(ops.Const(2))) if a is b:
                return a
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    y = x.tanh()
    return (y + y) / 2.0
# %% wrong: own_pass: the larger of x and the smaller of x and y
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Maximum(), (a, Node(ops.Minimum(), (b, _))) if b is a:
                return a
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return mg.maximum(x, mg.minimum(x, x))
# %% wrong: own_pass: division by three as a product
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Div(), (Node(ops.Mul(), (a, Node(ops.Const(k)))), Node(ops.Const(l))) if k == l:
                return a
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return (x.tanh() * 2.0) / 2.0
# %% right: own_pass: minus times minus
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Mul(), (Node(ops.Neg(), (a,)), Node(ops.Neg(), (b,))):
                return Node(ops.Mul(), (a, b))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return (-x) * (-x.exp())
# %% right: own_pass: size of a product of sizes
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Abs(), (Node(ops.Exp() | ops.Relu(), _) as y,):
                return y
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.exp().abs()
# %% right: own_pass: minus a difference from a negative
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Sub(), (a, Node(ops.Neg(), (b,))):
                return Node(ops.Add(), (a, b))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.exp() - (-x)
# %% right: own_pass: twice as a sum
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Add(), (
                Node(ops.Mul(), (a, Node(ops.Const(2)))) as m,
                Node(ops.Mul(), (b, Node(ops.Const(2)))),
            ) if a is b:
                return Node(ops.Mul(), (m, m.inputs[1]))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x * 2 + x * 2
# %% right: own_pass: relu of exp
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Relu(), (Node(ops.Exp(), _) as y,):
                return y
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.exp().relu() + x
# %% right: own_pass: relu of size
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Relu(), (Node(ops.Abs(), _) as y,):
                return y
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return x.abs().relu() + x
# %% right: own_pass: size of a difference
def my_pass(graph):
    def make(node, inputs):
        match node.op, inputs:
            case ops.Abs(), (Node(ops.Neg(), (y,)),):
                return Node(ops.Abs(), (y,))
        return node.with_inputs(inputs)

    return graph.rebuild(make)


def example(x):
    return (-(x * 3)).abs()
