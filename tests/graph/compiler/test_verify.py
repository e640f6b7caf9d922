"""The verifier: every law of a graph, broken once."""

import pytest
from test_passes import Noise

from minigrad import ops
from minigrad.engine.base.errors import CycleError, GraphError
from minigrad.engine.base.spec import Spec, Specs
from minigrad.engine.core.graph import Graph
from minigrad.engine.core.node import NamedNode, Node
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.passes.fuse import Fused, fuse
from minigrad.graph.compiler.passes.verify import verify
from tests.support.table import table

F3 = Spec((3,), "f8")


def a(i, spec=F3):
    return Node(ops.Input(f"a{i}"), (), spec)


def sound():
    x = placeholder("x", F3)
    return Graph((x.node,), ((x.exp() * 2 + x).node, None))


def broken(what):
    """A graph that breaks one law."""
    x, y = Node(ops.Input("x"), (), F3), Node(ops.Input("y"), (), F3)
    looped = Node(ops.Neg(), (x,))
    match what:
        case "spec":
            return Graph((x,), (Node(ops.Exp(), (x,), Spec((4,), "f8")),))
        case "unlisted":
            return Graph((x,), (Node(ops.Add(), (x, y)),))
        case "twice":
            return Graph((x, x), (Node(ops.Exp(), (x,)),))
        case "no input":
            return Graph((Node(ops.Exp(), (x,)),), ())
        case "input names":
            same = Node(ops.Input("x"), (), F3)
            return Graph((x, same), (Node(ops.Add(), (x, same)),))
        case "staged names":
            one = NamedNode(ops.Exp(), (x,), F3, "y", None)
            return Graph((x,), (NamedNode(ops.Neg(), (one,), F3, "y", None),))
        case "leaf":
            return Graph((), (Node(ops.leaf.Leaf(), (), F3),))
        case "cycle":
            looped.inputs = (looped,)
            return Graph((), (looped,))
        case "piece":
            return Graph((x,), (Node(ops.TupleGet(1), (Node(Fused(body("pair")), (x,)),), Spec((4,), "f8")),))
    return Graph((x,), (Node(Fused(body(what)), (x,)),))


def body(what):
    """The body of a loop that breaks one law of theirs."""
    x = a(0)
    match what:
        case "pair":
            return Graph((x,), (Node(ops.Exp(), (x,)), Node(ops.Neg(), (x,))))
        case "body names":
            other = Node(ops.Input("b"), (), F3)
            return Graph((other,), (Node(ops.Exp(), (other,)),))
        case "body op":
            return Graph((x,), (Node(ops.Neg(), (Node(ops.Flip((0,)), (x,)),)),))
        case "body shape":
            return Graph((x,), (Node(ops.Exp(), (x,)), Node(ops.Neg(), (Node(ops.const(1.0), (), Spec((), "f8")),))))
        case "body reduction":
            return Graph((x,), (Node(ops.Mul(), (x, Node(ops.Sum((0,)), (x,)))),))
        case "body spec":
            return Graph((x,), (Node(ops.Greater(), (x, x), F3),))


BROKEN = {
    "spec": "is f64.3., but its node says f64.4.", "unlisted": "not among the graph's arguments",
    "twice": "is listed more than once", "no input": "every argument of a graph must be an Input",
    "input names": "2 nodes are named 'x'", "staged names": "2 nodes are named 'y'", "leaf": "is no Input, no constant",
    "piece": "but its node says", "body names": "a0, a1", "body op": "must be elementwise",
    "body shape": "loops over one shape", "body reduction": "a reduction must end a fused body",
    "body spec": "but its node says",
}  # fmt: skip


@table("what", BROKEN)
def test_a_broken_law_is_named(what):
    with pytest.raises(GraphError, match=BROKEN[what]):
        verify(broken(what))


def test_a_node_that_depends_on_itself_is_found():
    with pytest.raises(CycleError, match="depends on itself"):
        verify(broken("cycle"))


def test_a_sound_graph_is_given_back():
    graph = sound()

    assert verify(graph) is graph
    assert verify(fuse(graph), graph)


def test_of_several_results_each_is_checked():
    x = Node(ops.Input("x"), (), F3)
    loop = Node(Fused(body("pair")), (x,))

    assert loop.spec == Specs((F3, F3))
    verify(Graph((x,), (Node(ops.TupleGet(0), (loop,)), Node(ops.TupleGet(1), (loop,)))))


def test_a_pass_may_not_touch_arguments_results_or_effects():
    x = placeholder("x", F3)
    noisy = Graph((x.node,), (x.apply(Noise()).node,))

    with pytest.raises(GraphError, match="must keep the arguments"):
        verify(Graph((x.node, placeholder("y", F3).node), noisy.outputs), noisy)
    with pytest.raises(GraphError, match="must keep the results"):
        verify(Graph((x.node,), (x.apply(Noise()).sum().node,)), noisy)
    with pytest.raises(GraphError, match="must keep the results"):
        verify(Graph((x.node,), (None,)), noisy)
    with pytest.raises(GraphError, match="must keep every effect"):
        verify(Graph((x.node,), ((x * 1).node,)), noisy)
    with pytest.raises(GraphError, match="must keep every effect"):
        verify(Graph((x.node,), (x.apply(Noise()).apply(Noise()).node,)), noisy)
