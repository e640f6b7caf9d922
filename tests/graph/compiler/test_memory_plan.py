"""Buffer planning, checked by somebody who did not plan: lives are counted again, from the steps alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.compiler.program.memory_plan import Allocation, assign_offsets, plan
from minigrad.graph.compiler.program.tiling import in_rows, lower_to_blocks
from tests.support.random_programs import graphs


def lives(steps):
    """Buffer → the steps between which its bytes matter."""
    seen = {}
    for k, step in enumerate(steps):
        if step.result is None or step.result.kind != "view":
            for value in step.operands:
                for root in value.roots:
                    seen.setdefault(root, []).append(k)
    return {root: (min(ks), max(ks)) for root, ks in seen.items() if root.kind == "planned"}


def clashes(made):
    """Pairs of buffers that are in use at one step, and have bytes in common: but for one written over the other."""
    alive = {r: span for r, span in lives(made.steps).items() if made.allocations[r].offset is not None}
    for a, (a_first, a_last) in alive.items():
        for b, (b_first, _) in alive.items():
            if a is b or b_first < a_first or b_first > a_last:
                continue
            a_start, b_start = made.allocations[a].offset, made.allocations[b].offset
            if a_start < b_start + b.nbytes and b_start < a_start + a.nbytes:
                step = made.steps[b_first]
                inherited = b_first == a_last and a_start == b_start and not step.loop
                fits = all(v.lies_as(step.write_operands[0]) for v in step.read_operands if a in v.roots)
                if not (inherited and fits and step.over is None):
                    yield a, b


@settings(max_examples=60)
@given(graphs())
def test_no_two_buffers_that_are_in_use_share_a_byte(graph):
    assert not list(clashes(plan(lower_to_blocks(graph), {})))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(1, 5000)), max_size=40))
def test_buffers_of_any_lives_find_places_apart(lives):
    allocations = [Allocation(n, first, first + more) for first, more, n in lives]
    size = assign_offsets(allocations)

    for i, a in enumerate(allocations):
        assert a.offset % 64 == 0
        assert a.offset + a.nbytes <= size
        for b in allocations[:i]:
            together = a.first <= b.last and b.first <= a.last
            assert not together or a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset


def test_a_chain_works_in_one_buffer_and_ends_in_the_result():
    x = placeholder("x", Spec((1000,), "f4"))
    y = x
    for _ in range(20):
        y = (y * 2 + 1).tanh()
    made = plan(lower_to_blocks(Graph((x.node,), (y.node,))), {})

    assert len(made.residents) == 1
    assert made.size == 0
    assert made.peak_bytes == 4000


def test_what_dies_makes_room():
    x = placeholder("x", Spec((1000,), "f4"))
    total = x
    for i in range(10):
        total = total + (x * i).exp() * (x + i).sin()

    assert plan(lower_to_blocks(Graph((x.node,), (total.sum().node,))), {}).size <= 3 * 4032


def test_a_view_keeps_alive_what_it_looks_at():
    x = placeholder("x", Spec((4, 4), "f8"))
    doubled = x * 2
    turned = doubled.mT
    y = (x + 1).exp() * (x - 1).exp()
    graph = Graph((x.node,), ((y + turned).sum().node,))

    made = plan(lower_to_blocks(graph), {})

    assert not list(clashes(made))
    assert len({t.offset for t in made.residents if t.offset is not None}) >= 2


@pytest.mark.parametrize("into", [{0: 0}, {}])
def test_a_new_value_is_written_over_the_old_one_without_a_copy(into):
    p, g = (placeholder(name, Spec((50,), "f4")) for name in "pg")
    made = plan(lower_to_blocks(Graph((p.node, g.node), ((p - g * 0.1).node,))), into)

    assert not any("copyto" in s.text for s in made.steps)
    assert (made.outputs[0].kind == "argument") == bool(into)
    assert made.peak_bytes == (256 if into else 200 + 0)


def test_a_new_value_waits_until_the_old_one_has_been_read():
    p, g = (placeholder(name, Spec((50,), "f4")) for name in "pg")
    new = p - g
    graph = Graph((p.node, g.node), (new.node, (p * g).sum().node))
    made = plan(lower_to_blocks(graph), {0: 0})

    texts = [s.text for s in made.steps]
    assert not any("copyto" in text for text in texts)
    (written,) = (k for k, text in enumerate(texts) if text.startswith("subtract"))
    (read,) = (k for k, text in enumerate(texts) if text.startswith("multiply"))
    assert read < written


def test_rows_of_large_arrays_are_a_loop_and_small_arrays_are_not():
    for shape, loops in (((4096, 64), 1), ((64, 64), 0)):
        x = placeholder("x", Spec(shape, "f4"))
        section = in_rows(lower_to_blocks(Graph((x.node,), (x.softmax(1).node,))))
        assert sum(s.loop is not None for s in section.steps) == loops
