"""On every rank: a graph whose nodes are placed computes what one process does, with a message for each edge cut."""

import io
import re
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.group import DistributedError
from minigrad.distributed.placement import Recv, Send
from minigrad.engine.base.errors import GraphError
from minigrad.engine.core.modes import current, in_mode

dist.init_process_group(timeout=timedelta(seconds=15))
RANK, P = dist.get_rank(), dist.get_world_size()
RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 1))
W = [RNG.normal(size=shape) for shape in ((3, 4), (4, 4), (4, 1))]


class Net:
    """Three layers in turn on the workers, and a step of Adam, in a graph."""

    def __init__(self, placed=True, optimizer=None, **where):
        def on(i):
            return mg.device(f"worker:{i % P}" if placed else "cpu")

        self.graph = mg.Graph()
        with self.graph.as_default():
            self.x, self.t = (mg.placeholder("float64", (None, n)) for n in (3, 1))
            h, self.ws = self.x, []
            for i, w in enumerate(W):
                with on(i):
                    self.ws.append(mg.Variable(w, name=f"w{i}"))
                    h = (h @ self.ws[-1]).tanh()
            self.y = h
            with on(2):
                self.loss = ((h - self.t) ** 2).mean()
            self.gs = mg.gradients(self.loss, self.ws)
            if optimizer is not None:
                self.train = optimizer(self.ws).minimize(self.loss)
            self.init = mg.graph.global_variables_initializer()

    def feed(self):
        return {self.x: X, self.t: T}


def messages(session, kind=Send):
    """What this worker sent in the last run, or received: (node, peer)."""
    ops = [n.op for n in session.last_run.pruned.graph.nodes if type(n.op) is kind]
    return sorted((op.what, op.peer) for op in ops)


def check_a_run_computes_the_same():
    one, many = Net(placed=False), Net()
    with mg.Session(one.graph) as alone, dist.Session(many.graph) as session:
        alone.run(one.init), session.run(many.init)
        wanted = alone.run([one.y, one.loss, *one.gs], one.feed())
        for a, b in zip(wanted, session.run([many.y, many.loss, *many.gs], many.feed())):
            assert (a == b).all()  # the same ops on the same operands


def check_training_computes_the_same():
    for optimizer in (lambda ws: mg.optim.Adam(ws, lr=0.1), lambda ws: mg.optim.SGD(ws, lr=0.1, momentum=0.9)):
        one, many = Net(False, optimizer), Net(True, optimizer)
        with mg.Session(one.graph) as alone, dist.Session(many.graph) as session:
            alone.run(one.init), session.run(many.init)
            for _ in range(4):
                assert alone.run([one.train, one.loss], one.feed()) == session.run([many.train, many.loss], many.feed())
            for a, b in zip(alone.run(one.ws), session.run(many.ws)):
                assert (a == b).all()


def check_a_session_of_one_process_passes_over_workers():
    net, one = Net(), Net(placed=False)
    with mg.Session(net.graph) as session, mg.Session(one.graph) as alone:
        session.run(net.init), alone.run(one.init)
        assert session.run(net.loss, net.feed()) == alone.run(one.loss, one.feed())


def check_variables_live_on_their_worker():
    net = Net(optimizer=mg.optim.Adam)
    with dist.Session(net.graph) as session:
        session.run(net.init)
        owned = {name.split("/")[0] for name in session.values if name.startswith("w")}
        assert owned == {f"w{i}" for i in range(3) if i % P == RANK}
        assert {name for name in session.values if name.startswith(f"w{RANK}/")}  # moments, beside it
        session.run(net.train, net.feed())
        assert owned == {name.split("/")[0] for name in session.values if name.startswith("w")}
        if P == 2:  # two edges forward, two back, and the count of steps, which is beside w0
            assert len(messages(session)) + len(messages(session, Recv)) == 5


def check_gradients_are_where_their_forward_node_is():
    net = Net()
    with dist.Session(net.graph) as session:
        session.run(net.init)
        session.run(net.gs, net.feed())
        # Forward, h goes from layer to layer; backward, one gradient comes back over each such edge.
        crossings = [(i % P, (i + 1) % P) for i in range(2)]
        sent = [b for a, b in crossings if a == RANK] + [a for a, b in crossings if b == RANK]
        fetched = {g.name for g in net.gs}
        assert sorted(peer for what, peer in messages(session) if what not in fetched) == sorted(sent)
        assert len(messages(session)) == len(sent) + (P - 1) * sum(i % P == RANK for i in range(3))


def check_an_edge_that_is_read_twice_is_sent_once():
    g = mg.Graph()
    with g.as_default():
        with mg.device("worker:0"):
            a = mg.constant(X).exp()
        with mg.device("worker:1"):
            b, c = a.sin(), a.cos()
            d = (b + c + a).sum()
        with mg.device("worker:0"):
            e = d + a.sum()
    with counted() as bytes_sent, dist.Session(g) as session:
        value = session.run(e)
        a_to_1, d_back, e_to_all = ("send", 8 * X.size), ("send", 8), [("send", 8)] * (P - 1)
        assert bytes_sent == [[a_to_1, *e_to_all], [d_back], []][RANK]
        assert len(messages(session, Recv)) == 1 + (RANK == 1)
    np.testing.assert_allclose(value, (np.sin(np.exp(X)) + np.cos(np.exp(X)) + 2 * np.exp(X)).sum())


class Counter:
    def __init__(self):
        self.calls = []

    def on_transfer(self, call, nbytes):
        self.calls.append((call, nbytes))


@contextmanager
def counted():
    counter = Counter()
    with in_mode(watchers=(*current.mode.watchers, counter)):
        yield counter.calls


def check_messages_across_each_other_do_not_wait_for_ever():
    """Both workers read what the other makes, many times over, and more than MPI sends unasked for."""
    g = mg.Graph()
    with g.as_default():
        ys = [mg.constant(np.full(100_000, float(i))) for i in range(P)]
        for _ in range(5):
            for i in range(P):
                with mg.device(f"worker:{i}"):
                    ys[i] = ys[i] + ys[(i + 1) % P] * 0.5 + ys[(i - 1) % P]
        with mg.device("worker:0"):
            total = sum(y.sum() for y in ys)
    with dist.Session(g) as session, mg.Session(g) as alone:
        assert session.run(total) == alone.run(total)
        assert not messages(alone)


def check_a_variable_that_is_placed_nowhere_lives_on_worker_0():
    g = mg.Graph()
    outside = mg.tensor([1.0, 2.0])
    with g.as_default():
        v = mg.Variable(np.zeros(2), name="v")
        with mg.device("worker:1"):
            y = v.assign_add(v.value() * 2 + 1)
            two = mg.constant(2.0)
        with mg.device("worker:0"):
            z = mg.constant(X).exp() * two
        outside.add_(1)
        update = g.get_collection("update_ops")[-1]
        before = g.captured[id(outside)].input
        with mg.device("worker:1"):
            seen = g.symbols[before.name] * 1
    with dist.Session(g) as session:
        session.run(v.initializer)
        assert [session.run(y).tolist() for _ in range(2)] == [[1.0, 1.0], [4.0, 4.0]]
        assert ("v" in session.values) == (RANK == 0)
        session.run(z)
        assert len(messages(session)) == (P - 1) * (RANK == 0)  # fetched; the constant is everywhere
        assert session.run(update).tolist() == [2.0, 3.0]
        assert outside.tolist() == ([2.0, 3.0] if RANK == 0 else [1.0, 2.0])
        assert session.run(seen).tolist() == [2.0, 3.0]


def check_a_tensor_that_is_first_changed_after_a_run_that_read_it_is_read_where_it_is_changed():
    g = mg.Graph()
    outside = mg.tensor([1.0, 2.0])
    with g.as_default():
        y = outside * 10
    with dist.Session(g) as session:
        assert session.run(y).tolist() == [10.0, 20.0]
        with g.as_default():
            outside.add_(1)
        assert session.run(g.get_collection("update_ops")[-1]).tolist() == [2.0, 3.0]
        assert session.run(y).tolist() == [20.0, 30.0]


def check_what_is_all_on_one_worker_needs_no_message():
    g = mg.Graph()
    with g.as_default():
        with mg.device("worker:1"):
            w = mg.Variable(W[0], name="w")
            loss = (w**2).sum()
        train = mg.optim.Adam([w], lr=0.1).minimize(loss)
        with mg.device("worker:0"):
            shown = mg.print("on worker 0", file=io.StringIO())
        with mg.device("worker:1"):
            told = mg.print("on worker 1", file=io.StringIO())
        init = mg.graph.global_variables_initializer()
    with dist.Session(g) as session:
        session.run(init)
        session.run([train, shown, told])
        assert not messages(session), messages(session)
        assert not messages(session, Recv)
        assert (len(session.values) > 0) == (RANK == 1)


def check_what_is_placed_nowhere_is_computed_where_it_is_read():
    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("float64", (6, 3))
        twice = x * 2
        with mg.device("worker:1"):
            y = twice.sum()
    with dist.Session(g) as session:
        assert session.run(twice, {x: X}).sum() == session.run(y, {x: X})
        assert messages(session) == [("Sum", i) for i in range(P) if i != 1] * (RANK == 1)


def check_a_placed_placeholder_is_fed_there():
    g = mg.Graph()
    with g.as_default():
        with mg.device("worker:1"):
            x = mg.placeholder("float64", (6, 3))
        y = x.sum()
    with dist.Session(g) as session:
        assert session.run(y, {x: X if RANK == 1 else np.zeros((6, 3))}) == X.sum()


def check_assignments_and_reads():
    g = mg.Graph()
    with g.as_default():
        with mg.device("worker:1"):
            v = mg.Variable(np.zeros(3), name="v")
        with mg.device("worker:0"):
            add = v.assign_add(np.arange(3.0))
            with mg.graph.control_dependencies([add]):
                after = v.read_value() * 10
        init = mg.graph.global_variables_initializer()
    with dist.Session(g) as session:
        session.run(init)
        assert session.run(after).tolist() == [0.0, 10.0, 20.0]
        assert session.run(after).tolist() == [0.0, 20.0, 40.0]
        assert len(messages(session)) == [P, 1, 0][RANK]  # what is added, what v holds then; and what is fetched
        assert ("v" in session.values) == (RANK == 1)
        assert session.run(add).tolist() == [0.0, 3.0, 6.0]
        assert [what for what, _ in messages(session)] == [["captured"], ["AssignAdd"] * (P - 1), []][RANK]


def check_random_numbers_are_of_one_sequence():
    g = mg.Graph()
    with g.as_default():
        with mg.device("worker:0"):
            a = mg.randn(3)
        with mg.device("worker:1"):
            b = mg.randn(3)
        c = mg.randn(3)
        effects = mg.print(a, "is printed by worker 0", file=io.StringIO())
    with dist.Session(g) as session, mg.Session(g) as alone:
        mg.manual_seed(3)
        here = [session.run([a, b, c, effects]) for _ in range(2)]
        mg.manual_seed(3)
        there = [alone.run([a, b, c, effects]) for _ in range(2)]
    np.testing.assert_array_equal(here, there)
    assert not np.array_equal(here[0][0], here[0][1])


def check_control_flow_and_integers_are_sent():
    g = mg.Graph()
    with g.as_default():
        n = mg.placeholder("int64", ())
        with mg.device("worker:1"):
            y = mg.cond(n > 2, lambda: n * 2, lambda: n + 100)
        with mg.device("worker:0"):
            z = y + 1
    with dist.Session(g) as session:
        assert session.run(z, {n: 3}) == 7
        assert session.run(z, {n: 1}) == 102


def check_what_differs_or_is_not_there_is_refused():
    net = Net()
    with dist.Session(net.graph) as session:
        session.run(net.init)
        with pytest.raises(DistributedError, match=r"session.run of .*\.py:\d+"):
            session.run(net.y if RANK else net.loss, net.feed())
        with pytest.raises(DistributedError, match=r"session\.run"):
            session.run(net.y, {net.x: X + RANK, net.t: T})
    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("float64", (3,))
        with mg.device(f"worker:{P}"):
            y = x + 1
        with mg.device("worker:1"):
            _, grown = mg.while_loop(
                lambda i, x: i < 2, lambda i, x: (i + 1, mg.cat([x, x])), (0, x), shape_invariants=((), (None,))
            )
        with mg.device("worker:0"):
            n = grown + 1
    with dist.Session(g) as session:
        with pytest.raises(GraphError, match=rf"placed on worker:{P}, and there are {P} processes"):
            session.run(y, {x: np.zeros(3)})
        with pytest.raises(GraphError, match="has a length that its reader"):
            session.run(n, {x: np.zeros(3)})


def check_each_worker_draws_its_part():
    net = Net()
    with dist.Session(net.graph) as session:
        session.run(net.init)
        session.run(net.loss, net.feed())
        text = mg.draw(session.last_run.pruned.graph).text
    assert set(re.findall(r"@ (worker:\d)", text)) == {f"worker:{RANK}"}
    for op, peer in messages(session):
        assert f"send {op} to worker:{peer}" in text
    for op, peer in messages(session, Recv):
        assert f"receive {op} from worker:{peer}" in text
