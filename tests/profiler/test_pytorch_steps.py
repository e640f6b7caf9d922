"""profiler.memory and estimate of PyTorch models: their sums are PyTorch's own, and no model is changed."""

from contextlib import nullcontext
from copy import deepcopy

import pytest

import minigrad as mg
from minigrad.course.widgets import MemoryTimeline
from minigrad.engine.base.errors import NoValueError
from minigrad.profiler.books import Consumer

torch = pytest.importorskip("torch", reason="PyTorch's models are watched, and it is not installed")

from torch import nn  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

F = nn.functional
pytestmark = pytest.mark.filterwarnings("ignore:TF32 acceleration", "ignore:None of the inputs have requires_grad")


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm, self.conv = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 16, 3)
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(16 * 12 * 12, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)), inplace=True)
        x = F.max_pool2d(self.drop(self.conv(x).relu()), 2)
        return self.head(x.flatten(1))


class Text(nn.Module):
    """A transformer whose embedding and head share one weight; its blocks are checkpoints if `options` says how."""

    def __init__(self, **options):
        super().__init__()
        self.embed, self.head, self.options = nn.Embedding(50, 16), nn.Linear(16, 50, bias=False), options
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True) for _ in range(2))
        self.head.weight = self.embed.weight

    def forward(self, x):
        h = self.embed(x)
        for block in self.blocks:
            h = checkpoint(block, h, preserve_rng_state=False, **self.options) if self.options else block(h)
        return self.head(h)


MODELS = {
    "CNN": CNN,
    "Text": Text,
    "checkpoints": lambda: Text(use_reentrant=False),
    "reentrant": lambda: Text(use_reentrant=True),
}


@pytest.fixture(params=MODELS)
def make(request):
    return MODELS[request.param]


def batch(make):
    return torch.randn(4, 3, 28, 28) if make is CNN else torch.randint(50, (4, 12))


def step(model, optimizer, x):
    (model(x) ** 2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def storages(tensors):
    """Address → bytes of the storages of these tensors."""
    return {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors}


def saved_by_hooks(model, x, *others):
    """Bytes that autograd saves in a forward pass, without those of the model and of other tensors."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = model(x)
    there = storages([*model.parameters(), *model.buffers(), *others])
    assert y.requires_grad
    return sum(nbytes for address, nbytes in storages(saved).items() if address not in there)


def test_the_bytes_saved_are_those_that_plain_hooks_see(make):
    model, x = make(), batch(make)
    expected = saved_by_hooks(model, x, x)
    with mg.profiler.memory(model, inputs=x) as ledger:
        y = model(x)
        ledger.note("forward is done")
        del y

    assert ledger.moments[-2].live[Consumer.SAVED] == expected > 0
    for by in ("op", "line"):
        assert sum(row[-1] for row in ledger.table(by=by).rows) == expected


def test_the_peak_is_that_of_pytorchs_own_profiler_and_on_meta_all_moments_are_the_same(make):
    model, x = make(), batch(make)
    optimizer = torch.optim.Adam(model.parameters())
    step(model, optimizer, x)
    state = [each for p in optimizer.state.values() for each in p.values()]
    alive = sum(storages([*model.parameters(), *model.buffers(), *state, x]).values())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as prof:
        step(model, optimizer, x)
    events = [e for e in prof.profiler.kineto_results.events() if e.name() == "[memory]"]
    peak = now = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    ledgers = []
    for device in ("cpu", "meta"):
        with torch.device(device):
            there = make()
        optimizer, given = torch.optim.Adam(there.parameters()), x.to(device)
        step(there, optimizer, given)
        with mg.profiler.memory(there, optimizer, given) as ledger:
            step(there, optimizer, given)
        ledgers.append([(m.phase, m.live) for m in ledger.timeline()])

    assert max(sum(live) for _, live in ledgers[0]) == alive + peak
    assert ledgers[0] == ledgers[1]
    assert [*dict.fromkeys(phase for phase, _ in ledgers[0])] == ["start", "forward", "backward", "update", "end"]


def test_the_moments_of_a_small_step_are_those_counted_by_hand():
    model, x = nn.Linear(8, 16, bias=False), torch.randn(4, 8)
    with mg.profiler.memory(model, inputs=[x]) as ledger:
        torch.relu_(model(x)).view(2, 32).tanh().sum().backward()
    w, n = 8 * 16 * 4, 4 * 16 * 4  # bytes of the weight, and of each result
    there = {"parameters": w, "inputs": 4 * 8 * 4}
    found = [
        (m.what.split(",")[0].split(" gives")[0], {k: v for k, v in m.by_consumer.items() if v}) for m in ledger.moments
    ]

    assert found == [(what, there | live) for what, live in [
        ("nothing has run yet", {}),
        ("mm", {"other activations": n}),
        ("tanh", {"saved for backward": 2 * n}),  # relu_ saves its result, in mm's memory; a view has no memory
        ("sum", {"saved for backward": 2 * n, "other activations": 4}),
        ("ones_like", {"saved for backward": 2 * n, "other activations": 8}),
        ("in the derivative of tanh", {"saved for backward": 2 * n, "other activations": 8, "gradients": n}),
        ("in the derivative of relu_", {"saved for backward": n, "other activations": 8, "gradients": 2 * n}),
        ("in the derivative of mm", {"other activations": 8, "gradients": n + w}),
        ("the block ends", {"gradients": w}),
    ]]  # fmt: skip


def test_the_tables_say_which_module_op_and_line_keeps_an_array():
    model, x = CNN(), batch(CNN)
    with mg.profiler.memory(model, inputs=x) as ledger:
        model(x).sum().backward()
    rows = {row[:4]: row[-1] for row in ledger.table(by="op").rows}
    (line, where, op, _, nbytes), *_ = ledger.table(by="line").rows
    modules = {row[0]: row[1] for row in ledger.table(by="module").rows}

    assert rows["relu_", "CNN", "its result", "f32[4, 8, 26, 26]"] == 4 * 8 * 26 * 26 * 4
    assert rows["convolution", "CNN.stem", "operand 0", "f32[4, 3, 28, 28], of the inputs"] == 0
    assert (where, op, nbytes) == ("CNN", "max_pool2d_with_indices", 4 * 16 * (24 * 24 * 4 + 12 * 12 * 8))
    assert line.startswith(f"{__file__}:")
    assert line.endswith("in forward")
    assert modules["CNN.head"] == sum(p.nbytes for p in model.head.parameters())


def test_what_was_not_named_counts_from_its_first_use():
    w, x = torch.ones(8, 2, requires_grad=True), torch.ones(4, 8)
    with mg.profiler.memory(inputs=torch.ones(())) as ledger:
        (x @ w).sum().backward()
        ledger.note("backward is done")

    assert ledger.moments[-2].live[:5] == (w.nbytes, 0, x.nbytes, w.nbytes, 0)


def test_tied_weights_count_once_and_adam_holds_two_copies_of_them():
    model, x = Text(), batch(Text)
    optimizer, n = torch.optim.Adam(model.parameters()), sum(p.nbytes for p in model.parameters())
    with mg.profiler.memory(model, optimizer, x) as ledger:
        step(model, optimizer, x)
        model(x)

    assert ledger.moments[-2].phase == "forward"
    assert ledger.moments[0].by_consumer["parameters"] == n
    steps = 4 * len([*model.parameters()])  # Adam counts the steps of each
    assert ledger.moments[-1].by_consumer["optimizer state"] == 2 * n + steps


@pytest.mark.parametrize("kind", ["checkpoints", "reentrant"])
def test_a_checkpoint_saves_less_and_runs_its_part_again(kind):
    most, x = [], batch(Text)
    for model in (Text(), MODELS[kind]()):
        with mg.profiler.memory(model, inputs=x) as ledger:
            model(x).sum().backward()
        most.append(max(m.live[Consumer.SAVED] for m in ledger.moments))
    again = {m.about.module.split(".")[2] for m in ledger.moments if m.what.startswith("once more")}
    forward, backward = (
        max(m.live[Consumer.SAVED] for m in ledger.moments if m.phase == phase) for phase in ("forward", "backward")
    )

    assert forward < backward / 2  # backward has the arrays of a block that ran again
    assert most[1] < 0.7 * most[0]
    assert again == {"0", "1"}


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp() + 1
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        _, y = ctx.saved_tensors
        return g * y


def test_a_custom_function_is_named():
    x = torch.randn(100, requires_grad=True)
    with mg.profiler.memory(inputs=x) as ledger:
        Scale.apply(x * 2).sum().backward()

    assert [(row[0], *row[-2:]) for row in ledger.table(by="op").rows] == [("Scale", 2, 800)]
    assert any(m.what.startswith("in the derivative of Scale, mul gives") for m in ledger.moments)


def double_backward(model, x):
    p = next(model.parameters())
    (g,) = torch.autograd.grad((model(x) ** 2).sum(), p, create_graph=True)
    return torch.autograd.grad(g.sum(), p)[0]


def of_sparse_tensors(model, x):
    embedding = nn.Embedding(9, 4, sparse=True)
    (
        embedding(torch.tensor([1, 2])).sum() + torch.sparse.mm(torch.eye(9).to_sparse(), embedding.weight).sum()
    ).backward()
    torch.optim.SGD(embedding.parameters(), lr=0.1).step()
    return embedding.weight.detach()


RUNS = {
    "a step": lambda model, x: step(model, torch.optim.Adam(model.parameters()), x),
    "double": double_backward,
    "sparse": of_sparse_tensors,
    "inference": torch.inference_mode()(lambda model, x: model(x)),
    "estimate": lambda model, x: None,
}


@pytest.mark.parametrize("name", RUNS)
def test_a_model_that_is_watched_ends_as_one_that_is_not(name):
    def state_after(watch):
        torch.manual_seed(0)
        model, x = CNN(), batch(CNN)
        if name == "estimate" and watch:
            assert mg.profiler.estimate(model, x).total == mg.profiler.estimate(model, x, run=True).total
        with mg.profiler.memory(model, inputs=x) if watch else nullcontext():
            result = RUNS[name](model, x)
        hooks = [len(each) for module in model.modules() for k, each in vars(module).items() if k.endswith("_hooks")]
        state = [*model.parameters(), *model.buffers(), x]
        facts = [hooks, model.training, [(t._version, t.requires_grad, t.grad is None) for t in state]]
        tensors = [*state, *(t.grad for t in state), result, torch.get_rng_state()]
        return facts, [t for t in tensors if isinstance(t, torch.Tensor)]

    (facts, tensors), (watched_facts, watched) = state_after(False), state_after(True)

    assert watched_facts == facts
    assert all(torch.equal(a, b) for a, b in zip(watched, tensors, strict=True))
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks


def test_a_saved_tensor_that_was_changed_in_place_is_an_error_as_without_a_ledger():
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="by an inplace operation: exp saved a f32"), mg.profiler.memory(inputs=x):
        x.exp().add_(1).sum().backward()


@pytest.mark.parametrize(("given", "match"), [
    ({"model": nn.Linear(2, 2), "optimizer": mg.optim.SGD([mg.nn.Parameter(mg.ones(2))], lr=1)}, "PyTorch's Optimizer"),
    ({"model": mg.nn.Linear(2, 2), "inputs": torch.ones(2)}, "PyTorch's Module, as other arguments are PyTorch's"),
    ({"model": nn.Linear(2, 2), "inputs": ["x"]}, "PyTorch's Tensor, as other arguments are PyTorch's; got 'x'"),
])  # fmt: skip
def test_objects_of_two_frameworks_are_refused(given, match):
    with pytest.raises(TypeError, match=match):
        mg.profiler.memory(**given)


def test_the_widget_trains_a_copy_of_a_pytorch_model():
    model, x = CNN(), batch(CNN)
    before = deepcopy(model.state_dict())
    film = MemoryTimeline(model, F.cross_entropy, x, torch.randint(10, (4,)))

    with pytest.raises(TypeError, match=r"got <class .*CNN'>, <class 'torch.Tensor'>$"):  # was the repr of both
        MemoryTimeline(model, x, x)
    assert {moment.phase for moment in film.runs["this run"]} == {"start", "forward", "backward", "update", "end"}
    assert f"peak {max(film.peaks.values()):,} bytes" in film.svg
    assert all(torch.equal(a, b) for a, b in zip(before.values(), model.state_dict().values(), strict=True))


def flops_by_pytorch(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def test_an_estimate_is_what_pytorch_counts_and_saves(make):
    model, x = make(), batch(make)
    e, forward = mg.profiler.estimate(model, x), flops_by_pytorch(lambda: model(x))
    with torch.inference_mode():
        inferred = mg.profiler.estimate(model, x)

    assert (inferred.macs, inferred.backward_macs, inferred.saved_bytes) == (e.macs, 0, 0)
    assert 2 * e.macs == forward
    assert 2 * e.backward_macs == flops_by_pytorch(lambda: model(x).sum().backward()) - forward
    assert e.saved_bytes == saved_by_hooks(model, x)
    assert e.parameters == sum(p.numel() for p in model.parameters())


def test_an_estimate_of_a_pytorch_model_is_that_of_the_same_model_in_minigrad():
    found = []
    for there in (torch.nn, mg.nn):
        layers = there.Conv2d(3, 8, 3), there.ReLU(), there.Flatten(), there.Linear(8 * 36, 10)
        e = mg.profiler.estimate(there.Sequential(*layers).float(), (4, 3, 8, 8))
        costs = {path: (cost.macs, cost.backward_macs) for path, cost in e.by_module.items()}
        found.append((costs, e.parameters, e.trainable, e.checkpoint_bytes, e.saved_bytes))

    assert found[0] == found[1]


class Attention(nn.Module):
    def forward(self, q):
        return F.scaled_dot_product_attention(q, q * 2, q * 3)


def test_attention_and_lstms_on_the_cpu_cost_what_their_plain_ops_do():
    models = {Attention(): torch.randn(2, 4, 32, 16, requires_grad=True), nn.LSTM(16, 32, 2): torch.randn(7, 5, 16)}
    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        plain = [flops_by_pytorch(lambda m=m, x=x: m(x)) for m, x in models.items()]
    estimates = [mg.profiler.estimate(m, x) for m, x in models.items()]

    assert [2 * e.macs for e in estimates] == plain
    assert estimates[1].backward_macs == 2 * estimates[1].macs  # for its arguments, and for its weights


def test_a_model_larger_than_memory_is_counted_on_meta():
    with torch.device("meta"):
        large = nn.Linear(10**6, 10**6)

    assert mg.profiler.estimate(large, (2, 10**6)).macs == 2 * 10**12


class ReadsValue(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else x * 2


def test_what_cannot_be_counted_says_how_it_can():
    x = torch.full((3,), -1.0)
    with pytest.raises(NoValueError, match=r"by aten._local_scalar_dense.default, .*: estimate\(\.\.\., run=True\)"):
        mg.profiler.estimate(ReadsValue(), x)
    assert mg.profiler.estimate(ReadsValue(), x, run=True).by_op["mul"].flops == 3
    with pytest.raises(TypeError, match="call this in a Module's forward"):
        mg.profiler.estimate(torch.tanh, x)
