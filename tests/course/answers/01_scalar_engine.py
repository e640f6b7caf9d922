{
    "wrong: order: by value and number of parents": {
        "if node not in seen:": "key = node.data, len(node.parents)\n        if key not in seen:",
        "seen.add(node)": "seen.add(key)",
    },
    "wrong: order: the first hundred": {"return placed": "return placed[:100]"},
    "wrong: order: marks that stay on the nodes": {
        "placed, seen = [], set()": "placed = []", "node not in seen": 'not hasattr(node, "seen")',
        "seen.add(node)": "node.seen = True",
    },
    "wrong: order: parents of sums alone": {"for parent, _ in": "if", "(parent)": "(node.parents[0][0])"},
    "right: visits: computed, as floats": "times_at_x = float(sum(1 for _ in range(1024)))\nnodes = len(range(10)) + 1",
    "wrong: gradients: of the leaves alone":
        {"return grad": "return {node: g for node, g in grad.items() if not node.parents}"},
    "wrong: gradients: the same pair of arrows is followed once": {"node.parents": "set(node.parents)"},
    "wrong: zero: in capitals": 'zero_says = "B"',
    "wrong: gradients: sixty nodes": {"reversed(order(y))": "[*reversed(order(y))][:60]"},
    "wrong: gradients: absolute": {"grad[node] * slope": "abs(grad[node] * slope)"},
    "right: product: parents in lists": {"((a, b.data), (b, a.data))": "[[a, b.data], [b, a.data]]"},
    "wrong: product: whole numbers only": {"a.data * b.data": "int(a.data * b.data)"},
    "wrong: product: parents in the other order": {"((a, b.data), (b, a.data))": "((b, a.data), (a, b.data))"},
    "right: visits: fractions": "from fractions import Fraction\ntimes_at_x, nodes = Fraction(2) ** 10, Fraction(11)",
    "wrong: order: without the second parent": {"for parent, _ in node.parents:": "for parent, _ in node.parents[:1]:"},
    "wrong: gradients: kept from call to call": {
        "grad = dict.fromkeys(order(y), 0.0)": "grad = globals().setdefault('kept', {})\n    for node in order(y):\n        grad.setdefault(node, 0.0)"
    },
    "wrong: gradients: the last pair of arrows": {
        "grad[parent] += grad[node] * slope": "grad[parent] = grad[parent] + grad[node] * slope if parent is not node.parents[0][0] else grad[node] * slope"
    },
    "right: order: a tuple": {"return placed": "return tuple(placed)"},
    "right: order: an iterator": {"return placed": "return iter(placed)"},
    "wrong: product: rounded": {"Node(a.data * b.data,": "Node(round(a.data * b.data, 1),"},
}
# %% right: product: a lambda, and a class of its own
class Product(Node):
    def __init__(self, a, b):
        super().__init__(b.data * a.data, tuple((one, other.data) for one, other in ((a, b), (b, a))))


multiply = lambda a, b: Product(a, b)
# %% wrong: product: nodes of equal numbers are taken for one
made = {}


def multiply(a, b):
    key = a.data, b.data
    return made.setdefault(key, Node(a.data * b.data, ((a, b.data), (b, a.data))))
# %% wrong: product: a zero has no parents
def multiply(a, b):
    return Node(a.data * b.data, ((a, b.data), (b, a.data)) if a.data and b.data else ())
# %% wrong: product: a factor is written over
def multiply(a, b):
    y = Node(a.data * b.data, ((a, b.data), (b, a.data)))
    a.data = y.data
    return y
# %% right: order: a stack and a set of numbers of objects
def order(y):
    placed, done, stack = [], set(), [(y, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            placed.append(node)
        else:
            stack.append((node, True))
            stack.extend((parent, False) for parent, _ in node.parents)
    return placed
# %% right: order: a generator that calls itself, and a list that remembers
def order(y):
    def walk(node, seen):
        if not any(node is one for one in seen):
            seen.append(node)
            for parent, _ in node.parents:
                yield from walk(parent, seen)
            yield node

    return list(walk(y, []))
# %% right: order: by height above the leaves
def order(y):
    height = {}

    def high(node):
        if node not in height:
            height[node] = 1 + max((high(parent) for parent, _ in node.parents), default=0)
        return height[node]

    high(y)
    return sorted(height, key=height.get)
# %% right: order: those that wait are counted, and the list turned round
def order(y):
    from collections import Counter, deque

    seen, users, todo = {y}, Counter(), deque([y])
    while todo:
        for parent, _ in todo.popleft().parents:
            users[parent] += 1
            if parent not in seen:
                seen.add(parent)
                todo.append(parent)
    placed, free = [], [y]
    while free:
        node = free.pop()
        placed.append(node)
        for parent, _ in node.parents:
            users[parent] -= 1
            if users[parent] == 0:
                free.append(parent)
    return tuple(reversed(placed))
# %% wrong: order: fifty steps down, and no more
def order(y, deep=50):
    placed = {}
    if deep:
        for parent, _ in y.parents:
            placed |= dict.fromkeys(order(parent, deep - 1)) if parent not in placed else {}
    return [*placed, y]
# %% right: gradients: by what comes from each child
def gradients(y):
    placed = order(y)
    grad = {}
    for node in placed[::-1]:
        pieces = [grad[child] * slope for child in grad for parent, slope in child.parents if parent is node]
        grad[node] = sum(pieces) if node is not y else 1
    return grad
# %% right: gradients: a dictionary that starts at nothing, and whole numbers
def gradients(y):
    from collections import defaultdict

    grad = defaultdict(int, {y: 1})
    for node in reversed(order(y)):
        g = grad[node]
        for parent, slope in node.parents:
            grad[parent] = grad[parent] + slope * g
    return grad
# %% wrong: gradients: kept by number
def gradients(y):
    by_number = {node.data: 0.0 for node in order(y)}
    by_number[y.data] = 1.0
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            by_number[parent.data] += by_number[node.data] * slope
    return {node: by_number[node.data] for node in order(y)}
# %% wrong: gradients: a sum kept on the nodes from call to call
def gradients(y):
    for node in order(y):
        node.grad = getattr(node, "grad", 0.0)
    y.grad += 1.0
    for node in reversed(order(y)):
        for parent, slope in node.parents:
            parent.grad += node.grad * slope
    return {node: node.grad for node in order(y)}
# %% right: eight_signs: another formula
def mine(a, b):
    u = add(b, a)
    v = subtract(u, a)
    return add(subtract(v, u), b)
# %% wrong: eight_signs: a product on the way
def mine(a, b):
    t = Node(a.data * b.data, ((a, b.data), (b, a.data)))
    return subtract(add(t, a), add(t, b))
# %% wrong: eight_signs: one of the leaves does not count
def mine(a, b):
    t = add(a, a)
    return subtract(add(t, a), subtract(t, a))
# %% wrong: eight_signs: a leaf is never used
def mine(a, b):
    t = add(a, a)
    u = add(t, t)
    return add(subtract(u, a), t)
