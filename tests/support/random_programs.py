"""Random programs: graphs of two inputs, with a loss, its gradients, and one result from the middle."""

from hypothesis import strategies as st

from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.tracing.gradients import gradients

UNARY = ("tanh", "exp", "sigmoid", "relu", "sqrt", "abs", "sin")


KINDS = ("unary", "+", "*", "-", "turn", "rows", "where", "slice", "matmul")


@st.composite
def graphs(draw, shape=(3, 4), dtype="f8", kinds=KINDS):
    """A random program of two inputs, its loss and gradients."""
    x, y = (placeholder(name, Spec(shape, dtype)) for name in "xy")
    made = [x, y]
    for _ in range(draw(st.integers(1, 14))):
        a, b = (made[draw(st.integers(0, len(made) - 1))] for _ in "ab")
        match draw(st.sampled_from(kinds)):
            case "unary":
                made.append(getattr(a.abs() + 0.1, draw(st.sampled_from(UNARY)))())
            case "+":
                made.append(a + b)
            case "*":
                made.append(a * b)
            case "-":
                made.append(a - b * 0.5)
            case "turn":
                made.append(a.reshape(shape[::-1]).mT.tanh())
            case "rows":
                made.append(a - b.sum(1, keepdims=True))
            case "where":
                made.append(a.where(a > b, b))
            case "slice":
                made.append(a[:, ::-1] * b[:1])
            case "matmul":
                made.append((a @ b.mT @ a).tanh())
    loss = (made[-1] * made[-1]).sum()
    gs = gradients({loss.node: loss.lift(1.0)}, [x.node, y.node])
    kept = made[draw(st.integers(0, len(made) - 1))]
    return Graph((x.node, y.node), (loss.node, *(gs[n].node if n in gs else None for n in (x.node, y.node)), kept.node))
