"""Training as a graph: the same rules, the same numbers as step by step."""

import numpy as np
import pytest
from test_optimizer import leaf

import minigrad as mg
from minigrad.engine.base.errors import GraphError, NoGradientError, NoValueError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.interpret import interpret
from minigrad.engine.tensor.inplace import write
from minigrad.nn.utils import clip_grad_norm_, clip_grad_value_
from minigrad.tracing.builder import GraphBuilder
from tests.graph.sessions.test_session import open_session
from tests.support.table import table

G = mg.graph
F = mg.nn.functional
RULES = [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {}), ("Adamax", {"weight_decay": 0.1}), ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {}), ("RAdam", {"betas": (0.9, 0.6)}), ("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.1}), ("Adadelta", {"lr": 1.0}),
]  # fmt: skip
rng = np.random.default_rng(2)
W = rng.normal(size=(3, 4))
XS = rng.normal(size=(20, 5, 3))


def loss_of(w, x):
    return ((x @ w).tanh() ** 2).mean()


def optimizer(kind, params, options):
    return getattr(mg.optim, kind)(params, **{"lr": 0.01} | options)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@table("kind, options", RULES)
def test_every_optimizer_takes_the_same_steps_in_a_session(kind, options, dtype):
    w = leaf(W.astype(dtype))
    eager = optimizer(kind, [w], options)
    with mg.Graph().as_default() as graph:
        v = mg.Variable(W, dtype=dtype)
        x = mg.placeholder(dtype, (None, 3))
        loss = loss_of(v, x)
        train = optimizer(kind, G.trainable_variables(), options).minimize(loss)
    with open_session(graph) as session:
        for data in XS.astype(dtype):
            eager.zero_grad()
            before = loss_of(w, mg.tensor(data))
            before.backward()
            eager.step()
            _, seen = session.run([train, loss], {x: data})

            np.testing.assert_allclose(seen, before.numpy(), rtol=0)
        np.testing.assert_allclose(session.run(v), w.numpy(), rtol=0)


class Worker:
    """A parameter that is trained, by a function that runs and by the same function staged."""

    def __init__(self, kind, options):
        self.w = leaf(W)
        self.optimizer = optimizer(kind, [self.w], options)
        self.schedule = mg.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.7)
        self.run_staged = staged(self.train, Spec(XS[0].shape, "f8"))

    def train(self, x):
        self.optimizer.zero_grad()
        loss = loss_of(self.w, x)
        loss.backward()
        clip_grad_norm_([self.w], 0.05)
        self.optimizer.step()
        return loss

    def step(self, x, is_staged):
        if is_staged:
            self.run_staged(x)
        else:
            self.train(mg.tensor(x))
        self.schedule.step()


@table("kind, options", RULES)
def test_every_optimizer_takes_the_same_steps_when_they_are_staged(kind, options):
    """Staged and eager steps follow one another, and a scheduler changes the learning rate of both."""
    one, other = Worker(kind, options), Worker(kind, options)
    for i, x in enumerate(XS):
        one.step(x, is_staged=False)
        other.step(x, is_staged=i % 4 > 0)

        np.testing.assert_allclose(other.w.numpy(), one.w.numpy(), rtol=1e-12, atol=1e-13)  # roundings of powers of β


def staged(f, spec):
    """f as a graph, run by the interpreter."""
    with GraphBuilder().building() as builder:
        y = f(builder.argument("x", spec))
    edited = list(builder.edited.values())
    graph = builder.finish_graph([y, *(c.symbol for c in edited)])

    def run(x):
        value, *new = interpret(graph, x, *(c.what.value for c in builder.captured.values()))
        for c, array in zip(edited, new):
            write(c.what, array)
        return value

    return run


@pytest.mark.parametrize("max_norm", [0.1, 1e6])
@pytest.mark.parametrize("norm_type", [2.0, 1.0, np.inf])
def test_gradients_are_clipped_in_a_graph_as_outside(norm_type, max_norm):
    ps = [leaf(W), leaf(W[0])]

    def clipped(x):
        for p in ps:
            p.grad = None
        ((x @ ps[0]).sum(axis=0) * ps[1]).sum().backward()
        total = clip_grad_norm_(ps, max_norm, norm_type)
        clip_grad_value_(ps, 0.02 * max_norm)
        return [total, *(p.grad for p in ps)]

    with GraphBuilder().building() as builder:
        outputs = clipped(builder.argument("x", Spec(XS[0].shape, "f8")))
    got = interpret(builder.finish_graph(outputs), XS[0], *(c.what.value for c in builder.captured.values()))

    for y, eager in zip(got, clipped(mg.tensor(XS[0]))):
        np.testing.assert_allclose(y, eager.numpy(), rtol=1e-13)


def test_the_state_of_staged_steps_is_saved_and_loaded():
    one, other = Worker("NAdam", {}), Worker("NAdam", {})
    for x in XS[:5]:
        one.run_staged(x)
    saved = one.optimizer.state_dict()
    assert saved["state"][0]["step"] == 5

    with mg.no_grad():
        other.w.copy_(one.w)
    other.optimizer.load_state_dict(saved)
    for x in XS[5:8]:
        one.run_staged(x)
        other.run_staged(x)

    np.testing.assert_array_equal(other.w.numpy(), one.w.numpy())


def test_a_network_of_modules_trains_by_run_and_by_session_alike():
    def network():
        mg.manual_seed(3)
        return mg.nn.Sequential(mg.nn.Linear(3, 8), mg.nn.Tanh(), mg.nn.Linear(8, 4))

    t = rng.integers(0, 4, size=(20, 5))
    by_run, by_session = network(), network()
    eager = mg.optim.Adam(by_run.parameters(), lr=0.05)
    with mg.Graph().as_default() as graph:
        x, labels = mg.placeholder("f8", (None, 3)), mg.placeholder("i8", (None,))
        loss = F.cross_entropy(by_session(x), labels)
        train = mg.optim.Adam(by_session.parameters(), lr=0.05).minimize(loss)
    curves = [], []
    session = mg.Session(graph)
    for data, targets in zip(XS, t):
        eager.zero_grad()
        y = F.cross_entropy(by_run(mg.tensor(data)), mg.tensor(targets))
        y.backward()
        eager.step()
        curves[0].append(y.item())
        curves[1].append(session.run([loss, train], {x: data, labels: targets})[0])

    np.testing.assert_allclose(*curves, rtol=1e-12)
    for p, q in zip(by_run.parameters(), by_session.parameters()):
        np.testing.assert_allclose(q.numpy(), p.numpy(), rtol=1e-11, atol=1e-13)


def test_gradients_may_be_changed_between_computing_and_applying():
    with mg.Graph().as_default() as graph:
        v, unused = mg.Variable(2.0, name="v"), mg.Variable(1.0)
        steps = mg.Variable(0, trainable=False)
        opt = mg.optim.SGD([v, unused], lr=0.5)
        pairs = opt.compute_gradients(v * v * 3)
        assert [(g is None, p is q) for (g, p), q in zip(pairs, [v, unused])] == [(False, True), (True, True)]
        train = opt.apply_gradients([(None if g is None else g.clamp(max=1.0), p) for g, p in pairs], steps, "train")
    with open_session(graph) as session:
        assert train.name == "train"
        assert session.run(train) is None
        assert session.run([v, unused, steps]) == [1.5, 1, 1]


def test_two_update_ops_share_what_the_optimizer_remembers():
    """Two losses and one variable, as when two players move it in turn."""
    w = leaf(2.0)
    eager = mg.optim.Adam([w], lr=0.1)
    with mg.Graph().as_default() as graph:
        v = mg.Variable(2.0)
        opt = mg.optim.Adam([v], lr=0.1)
        moves = [opt.minimize(v * v), opt.minimize(v.exp())]
    with open_session(graph) as session:
        for i in range(6):
            eager.zero_grad()
            (w * w if i % 2 == 0 else w.exp()).backward()
            eager.step()
            session.run(moves[i % 2])

        np.testing.assert_allclose(session.run(v), w.item(), rtol=1e-14)


def test_slots_are_variables_beside_their_own():
    with mg.Graph().as_default():
        v = mg.Variable(W, name="layer/w")
        mg.optim.Adam([v]).minimize(loss_of(v, XS[0]))

        names = {u.name for u in G.global_variables()}
        assert names == {"layer/w", "layer/w/Adam/exp_avg", "layer/w/Adam/exp_avg_sq", "layer/w/Adam/step"}
        assert [u.name for u in G.trainable_variables()] == ["layer/w"]


def test_groups_keep_their_own_options():
    with mg.Graph().as_default() as graph:
        a, b = mg.Variable(1.0), mg.Variable(1.0)
        opt = mg.optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "weight_decay": 0.5}], lr=0.25)
        train = opt.minimize(a + b)
    with open_session(graph) as session:
        session.run(train)

        assert session.run([a, b]) == [0, 1 - 0.25 * 1.5]
        opt.param_groups[0]["lr"] = 10.0
        session.run(train)
        assert session.run(a) == -10, "the learning rate is read at every run"


def test_what_cannot_be_minimized_is_refused():
    w = leaf(1.0)
    with pytest.raises(GraphError, match=r"loss\.backward\(\) and then SGD\.step\(\)"):
        mg.optim.SGD([w]).minimize(w * w)
    with mg.Graph().as_default():
        v = mg.Variable(1.0)
        with pytest.raises(NoGradientError, match="depends on none of the variables"):
            mg.optim.SGD([v]).minimize(mg.placeholder("f8", ()))
        with pytest.raises(TypeError, match="updates leaves"):
            mg.optim.SGD([v * 2])


def test_parameters_that_fell_out_of_step_are_told():
    ps = [leaf(1.0), leaf(2.0)]
    opt = mg.optim.Adam(ps)

    def train(x):
        opt.zero_grad()
        (ps[0] * ps[1] * x).backward()
        opt.step()
        return x

    run = staged(train, Spec((), "f8"))
    run(np.array(1.0))
    opt.zero_grad()
    (ps[0] * 1.0).backward()
    opt.step()

    with pytest.raises(GraphError, match="the same number of steps, and their numbers now differ"):
        run(np.array(1.0))


def test_gradients_are_applied_by_run_as_a_step_with_them_is():
    ws = [leaf(W), leaf(W)]
    by_step, by_pairs = (mg.optim.Adam([w], lr=0.1) for w in ws)
    for k in range(1, 4):
        ws[0].grad = mg.tensor(k * W)
        by_step.step()
        by_pairs.apply_gradients([(mg.tensor(k * W), ws[1])])

    assert np.array_equal(ws[0].numpy(), ws[1].numpy())
    assert ws[1].grad is None


def test_gradients_applied_by_run_leave_other_parameters_and_count_steps():
    w, still, count = leaf(1.0), leaf(2.0), mg.tensor(0)
    opt = mg.optim.SGD([w, still], lr=0.5)
    still.grad = mg.tensor(7.0)

    opt.apply_gradients([(mg.tensor(1.0), w), (None, still)], global_step=count)

    assert (w.item(), still.item(), count.item(), still.grad.item()) == (0.5, 2.0, 1, 7.0)


def test_gradients_are_applied_in_a_traced_function():
    w, v = leaf(W), leaf(W)
    traced_opt, eager_opt = mg.optim.Adam([w], lr=0.1), mg.optim.Adam([v], lr=0.1)

    @mg.function
    def step(x):
        loss = loss_of(w, x)
        (g,) = mg.autograd.grad(loss, [w])
        traced_opt.apply_gradients([(g.clamp(-0.01, 0.01), w)])
        return loss

    for x in XS[:3]:
        step(mg.tensor(x))
        (g,) = mg.autograd.grad(loss_of(v, mg.tensor(x)), [v])
        v.grad = g.clamp(-0.01, 0.01)
        eager_opt.step()

    np.testing.assert_array_equal(w.numpy(), v.numpy())


def test_gradients_of_a_stranger_are_not_applied():
    opt = mg.optim.SGD([leaf(1.0)])

    with pytest.raises(ValueError, match="SGD was not made with"):
        opt.apply_gradients([(mg.tensor(1.0), leaf(1.0))])


@pytest.mark.parametrize(("kind", "options"), RULES)
def test_a_learning_rate_may_be_fed(kind, options):
    w = leaf(W)
    eager = optimizer(kind, [w], options)
    with mg.Graph().as_default() as graph:
        v, lr = mg.Variable(W), mg.placeholder("f4", ())
        train = optimizer(kind, [v], options | {"lr": lr}).minimize(loss_of(v, XS[0]))
    session = open_session(graph)
    for rate in (0.3, 0.1, 0.03):
        session.run(train, {lr: rate})
        eager.lr = float(np.float32(rate))
        eager.zero_grad()
        loss_of(w, mg.tensor(XS[0])).backward()
        eager.step()

    np.testing.assert_array_equal(session.run(v), w.numpy())


def test_a_learning_rate_may_be_calculated_from_the_count_of_steps():
    with mg.Graph().as_default() as graph:
        v, count = mg.Variable(1.0), mg.Variable(0, trainable=False)
        train = mg.optim.SGD([v], lr=0.1 * 0.5**count).minimize(v * 1.0, global_step=count)
    session = open_session(graph)
    for _ in range(3):
        session.run(train)

    np.testing.assert_allclose(session.run(v), 1 - 0.1 - 0.05 - 0.025, rtol=1e-15)  # a rounding for each step


@pytest.mark.parametrize(("kind", "options"), RULES)
def test_every_optimizer_steps_on_the_device_of_its_variables(kind, options):
    values = []
    for home in ("cpu", "simulated"):
        with mg.Graph().as_default() as graph:
            w, x = mg.Variable(mg.tensor(W, device=home)), mg.placeholder("f8", (None, 3))
            train = optimizer(kind, [w], options).minimize(loss_of(w, x.to(home)))
        session = open_session(graph)
        for batch in XS[:4]:
            session.run(train, {x: batch})
        program = session.last_run.run.program
        if home != "cpu":
            apart = [node for recorded, nodes in program.parts if not recorded for node in nodes]
            assert {node.op.symbol for node in apart} == {"to"}, "one recording, and not a call for each op"
        values.append(session.run(w))

    np.testing.assert_allclose(values[1], values[0], rtol=1e-12)  # the powers of β are the device's


def test_a_learning_rate_in_a_graph_is_one_number_and_of_that_graph():
    w = leaf(1.0)
    with mg.Graph().as_default():
        lr = mg.placeholder("f8", ())
        with pytest.raises(ValueError, match="needs lr to be a number that is not negative, or one number of a graph"):
            mg.optim.SGD([w], lr=mg.placeholder("f8", (3,)))
    w.grad = mg.tensor(1.0)

    with pytest.raises(GraphError, match=r"lr=<Placeholder: f64\[\]> has no value before a session runs"):
        mg.optim.SGD([w], lr=lr).step()


def test_a_schedule_is_made_and_goes_on_in_the_block_of_a_graph():
    """It was refused, as in a traced function: where Python runs once for many runs, and would count but once."""
    v = leaf(1.0)
    with mg.Graph().as_default() as graph:
        w = mg.Variable(1.0)
        optimizer = mg.optim.SGD([w], lr=0.5)
        schedule = mg.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        train = optimizer.minimize(w * 1.0)
        with open_session(graph) as session:
            for _ in range(3):
                session.run(train)
                schedule.step()

            assert session.run(w) == 1 - 0.5 - 0.25 - 0.125
    schedule = mg.optim.lr_scheduler.ExponentialLR(mg.optim.SGD([v]), 0.5)
    with pytest.raises(GraphError, match="counts in Python"):
        mg.function(schedule.step)()


MODULES = {
    "Linear": lambda: mg.nn.Sequential(mg.nn.Linear(2, 2)), "Conv2d": lambda: mg.nn.Conv2d(2, 3, 2),
    "LSTM": lambda: mg.nn.LSTM(2, 3), "Embedding": lambda: mg.nn.Embedding(3, 2),
    "BatchNorm1d": lambda: mg.nn.BatchNorm1d(3), "MultiheadAttention": lambda: mg.nn.MultiheadAttention(4, 2),
}  # fmt: skip


@table("module", MODULES)
def test_a_module_made_in_the_block_of_a_graph_is_the_one_made_before_it(module):
    """Its parameters were to be drawn with a key that only a run would have."""
    mg.manual_seed(0)
    before = MODULES[module]()
    mg.manual_seed(0)
    with mg.Graph().as_default():
        inside = MODULES[module]()

    for p, q in zip(before.state_dict().values(), inside.state_dict().values(), strict=True):
        assert p.numpy().tolist() == q.numpy().tolist()


def test_a_module_made_in_a_traced_function_is_refused():
    with pytest.raises(NoValueError, match="make the module before, outside the traced function"):
        mg.function(lambda: mg.nn.Linear(2, 2).weight * 1)()


def test_a_graph_says_a_random_key_by_its_seed_and_not_by_an_address():
    mg.manual_seed(7)
    with mg.Graph().as_default() as graph:
        mg.rand(2)

    assert "NextKey(sequence=<Sequence of seed 7>)" in graph.as_text()


class EditsLast(mg.nn.Module):
    """Edits a buffer that nothing reads."""

    def __init__(self):
        self.register_buffer("seen", mg.zeros(3))

    def forward(self, x):
        y = x * 2
        self.seen.add_(x.detach().mean(0))
        return [y], {"twice": y * 2}


class Branches(mg.nn.Module):
    def __init__(self):
        self.norm = mg.nn.BatchNorm1d(3)

    def forward(self, x):
        return mg.cond(x.sum() > 0, lambda: self.norm(x), lambda: self.norm(x * 2))


KEEPS_STATISTICS = {
    "BatchNorm1d": lambda: mg.nn.BatchNorm1d(3),
    "BatchNorm1d, plain mean": lambda: mg.nn.BatchNorm1d(3, momentum=None),
    "BatchNorm1d in eval()": lambda: mg.nn.BatchNorm1d(3).eval(),
    "in a Sequential": lambda: mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.BatchNorm1d(3), mg.nn.BatchNorm1d(3)),
    "an edit that nothing reads": EditsLast,
    "in a branch": Branches,
}


@table("name", KEEPS_STATISTICS)
def test_a_run_moves_the_statistics_of_the_modules_that_it_calls(name):
    """The statistics stayed where they began, unless the update ops were run."""
    results = []
    for place in ("session", "eager"):
        mg.manual_seed(0)
        module, batches = KEEPS_STATISTICS[name](), np.random.default_rng(1).normal(1, 2, (4, 8, 3)).astype("f4")
        if place == "eager":
            for batch in batches:
                module(mg.tensor(batch))
        else:
            with mg.Graph().as_default() as graph:
                x = mg.placeholder("f4", (8, 3))
                y = mg.base.pytree.leaves(module(x))[-1]
                loss, w = (y * mg.Variable(1.0)).sum(), mg.Variable(2.0)
                train = mg.optim.SGD([w], lr=0.1).minimize(loss * w)
            with open_session(graph) as session:
                for batch, fetch in zip(batches, (y, loss, train, [y, train])):
                    session.run(fetch, {x: batch})
        results.append([b.numpy() for b in module.buffers()])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_tensor_that_forward_assigns_is_refused_in_a_session():
    """Each run began with the tensor that was there when the graph was built."""

    class Recurrent(mg.nn.Module):
        def __init__(self):
            self.h = mg.zeros(3)

        def forward(self, x):
            self.h = self.h + x
            return self.h * 2

    module = Recurrent()
    before = module.h
    with mg.Graph().as_default(), pytest.raises(GraphError, match=r"reads h of a Recurrent.*assigned.*copy_"):
        module(mg.placeholder("f4", (3,)))
    assert module.h is before
