"""The memory ledger: its sums are tracemalloc's, its parts are the textbook's formulas, and it costs what changes."""

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import MemoryTimeline
from minigrad.engine.core.versions import owner
from minigrad.profiler.books import CONSUMERS, Consumer
from minigrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

nn = mg.nn
F = nn.functional


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(256, 256) for _ in range(5)])
        self.head = nn.Linear(256, 10)

    def forward(self, x, part):
        for layer in self.layers:
            x = part(lambda x, layer=layer: layer(x).relu(), x)
        return self.head(x)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.convs = nn.ModuleList([nn.Conv2d(16, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)])
        self.head = nn.Linear(32 * 8 * 8, 10)

    def forward(self, x, part):
        x = F.max_pool2d(self.norm(self.stem(x)).relu(), 2)
        for conv in self.convs:
            x = part(lambda x, conv=conv: conv(x).relu(), x)
        return self.head(F.max_pool2d(x, 2).flatten(1))


class Block(nn.Module):
    def __init__(self, d=64, heads=4):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(d), nn.LayerNorm(d), heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (t.reshape(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, D))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(100, 64), nn.Linear(64, 100)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])

    def forward(self, ids, part):
        x = self.embedding(ids)
        for block in self.blocks:
            x = part(block, x)
        return self.head(x).reshape(-1, 100)


def numbers(*shape):
    return mg.tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def classes(most, *shape):
    return mg.tensor(np.random.default_rng(0).integers(0, most, shape))


BATCHES = {
    MLP: lambda: (numbers(1024, 256), classes(10, 1024)), CNN: lambda: (numbers(48, 3, 32, 32), classes(10, 48)),
    Transformer: lambda: (classes(100, 16, 64), classes(100, 16 * 64)),
}  # fmt: skip


def training(kind, way):
    """A model, its optimiser, its batch, and the function that makes a step."""
    mg.random.manual_seed(0)
    net, batch = kind().float(), BATCHES[kind]()
    optimizer = mg.optim.Adam(net.parameters())
    part = checkpoint if way == "checkpoint" else lambda f, x: f(x)
    loss_of = lambda x, y: F.cross_entropy(net(x, part), y)  # noqa: E731
    loss_of = mg.function(loss_of) if way == "function" else loss_of

    def step():
        loss_of(*batch).backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):  # what is compiled once, is; and memory that is handed out again, is there
        step()
    gc.collect()
    return net, optimizer, batch, step


def ledger_of(kind, way, steps=1, **options):
    """What the ledger has of some steps."""
    net, optimizer, batch, step = training(kind, way)
    with mg.profiler.memory(net, optimizer, batch, **options) as ledger:
        for _ in range(steps):
            step()
    return ledger


def measured(kind, way):
    """The peak of a step as tracemalloc has it: NumPy's bytes before it, and how far they and Python's rose."""
    tracemalloc.start()
    try:
        *_, step = training(kind, way)
        is_numpys = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        arrays = tracemalloc.take_snapshot().filter_traces([is_numpys]).traces
        there, before = sum(array.size for array in arrays), tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step()
        return there + tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.share(6)
@pytest.mark.parametrize("way", ["eager", "checkpoint", "function"])
@pytest.mark.parametrize("kind", [MLP, CNN, Transformer], ids=lambda kind: kind.__name__)
def test_the_peak_is_what_tracemalloc_measures(kind, way):
    net, optimizer, batch, step = training(kind, way)
    with mg.profiler.memory(net, optimizer, batch) as ledger:
        step()
    peak = ledger.peak

    assert peak.total == pytest.approx(measured(kind, way), rel=0.02)
    assert abs(peak.untold) < 0.02 * peak.total  # it is known whose it is
    sizes = sum(p.value.nbytes for p in net.parameters())
    assert [peak.live[i] for i in (Consumer.PARAMETERS, Consumer.STATE)] == [sizes, 2 * sizes]
    assert peak.live[Consumer.INPUTS] >= sum(x.value.nbytes for x in batch)
    assert (peak.live[Consumer.WORKSPACE] > 0) == (way == "function")
    assert ledger.moments[-1].live[Consumer.SAVED] == 0 == ledger.moments[-1].live[Consumer.GRADIENTS]


def test_the_peak_says_where_it_was():
    peak = ledger_of(CNN, "eager").peak

    assert peak.phase == "backward"
    assert peak.about.module == "CNN.norm"
    assert peak.about.place.file == __file__
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "self.norm(self.stem(x))" in text[peak.about.place.line - 1]
    for word in ("standardise", "CNN.norm", "test_memory_ledger.py", f"{peak.total:,}"):
        assert word in str(peak)


# -- the textbook's formulas -----------------------------------------------------------------------------


def test_a_convolution_and_its_activation_take_what_the_formulas_say():
    B, C, K, H, channels = 8, 3, 5, 32, 6
    conv, x = nn.Conv2d(C, channels, K, padding=K // 2).float(), numbers(B, C, H, H)
    with mg.profiler.memory(conv, inputs=[x], exact=False) as ledger:
        y = conv(x)
    last = ledger.moments[-1]

    assert last.live[Consumer.PARAMETERS] == 4 * (C * channels * K * K + channels)
    assert last.live[Consumer.INPUTS] == B * C * H * H * 4
    assert last.live[Consumer.OTHER] == y.value.nbytes == B * channels * H * H * 4
    assert last.live[Consumer.SAVED] == 0  # backward reads x and the filters, which are there anyway


def test_what_a_convolution_makes_and_drops_is_its_columns():
    """im2col: each of H·H places reads C·K·K numbers, for each example; and x is turned over once."""
    B, C, K, H = 2, 8, 3, 32  # few enough to be made all at once
    conv, x = nn.Conv2d(C, 8, K, padding=1, bias=False).float(), numbers(B, C, H, H)
    conv(x)
    with mg.profiler.memory(conv, inputs=[x]) as ledger:
        conv(x)

    columns, turned = B * H * H * C * K * K * 4, x.value.nbytes
    assert ledger.moments[1].inside == pytest.approx(columns + turned, rel=0.02)


def test_attention_drops_its_weights_of_128_queries_at_a_time():
    B, heads, E = 2, 4, 16
    inside = {}
    for length in (128, 512, 1024):
        q = numbers(B, heads, length, E)
        F.scaled_dot_product_attention(q, q, q)
        with mg.profiler.memory(inputs=[q]) as ledger:
            F.scaled_dot_product_attention(q, q, q)
        inside[length] = ledger.peak.inside
        scores = B * heads * 128 * length * 4
        assert inside[length] == pytest.approx(
            scores, rel=0.15
        )  # their exponentials overwrite them; and s q, sums of rows

    assert inside[1024] / inside[512] == pytest.approx(2, rel=0.08)


@pytest.mark.parametrize(
    ("optimizer", "copies"),
    [(mg.optim.SGD, 0), (lambda p: mg.optim.SGD(p, lr=0.1, momentum=0.9), 1), (mg.optim.Adam, 2)],
    ids=["SGD", "momentum", "Adam"],
)
def test_an_optimiser_keeps_so_many_copies_of_the_parameters(optimizer, copies):
    net, x = nn.Linear(64, 32).float(), numbers(4, 64)
    optimizer = optimizer(net.parameters())
    with mg.profiler.memory(exact=False) as ledger:  # which finds the optimiser when it makes a step
        net(x).sum().backward()
        optimizer.step()
    last = ledger.moments[-1]

    sizes = 4 * (64 * 32 + 32)
    assert last.live[:4] == (sizes, copies * sizes, x.value.nbytes, sizes)
    assert any(moment.phase == "update" and optimizer.name in moment.what for moment in ledger.moments)


def test_no_grad_keeps_nothing_for_backward():
    net, x = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(32, 32), nn.Tanh())]), numbers(64, 32)
    net.float()
    most = {}
    for name, block in (("recorded", mg.enable_grad), ("no_grad", mg.no_grad)):
        with mg.profiler.memory(net, inputs=[x], exact=False) as ledger, block():
            y = net(x)
        most[name] = [max(moment.live[i] for moment in ledger.moments) for i in (Consumer.SAVED, Consumer.OTHER)]
        del y

    array = 64 * 32 * 4
    assert most["recorded"] == [6 * array, array]  # each tanh keeps its result, which the next layer reads
    assert most["no_grad"] == [0, 2 * array]  # what is read, and what is made of it


def test_a_skip_connection_keeps_an_early_activation_longer():
    """Without one, the first result goes with the next; with one it is there until it is added."""
    x, array = numbers(64, 64), 64 * 64 * 4
    with mg.profiler.memory(inputs=[x], exact=False) as plain, mg.no_grad():
        h = x + 1
        for _ in range(4):
            h = h + 1
    with mg.profiler.memory(inputs=[x], exact=False) as skipped, mg.no_grad():
        h = x + 1
        early = h
        for _ in range(4):
            h = h + 1
        h = h + early

    assert [moment.live[Consumer.OTHER] // array for moment in plain.moments] == [0, 1, 2, 2, 2, 2, 1]
    assert [moment.live[Consumer.OTHER] // array for moment in skipped.moments] == [0, 1, 2, 3, 3, 3, 3, 2]


def test_what_backward_has_read_is_kept_no_longer_though_somebody_has_it():
    x, array = mg.tensor(np.ones((64, 64), np.float32), requires_grad=True), 64 * 64 * 4
    with mg.profiler.memory(exact=False) as ledger:
        y = x.tanh()
        z = y.sum()
        z.backward(retain_graph=True)
        retained = ledger.live()
        z.backward()

    assert y.shape == (64, 64)
    assert [retained[i] for i in (Consumer.SAVED, Consumer.OTHER)] == [array, 4]
    assert [ledger.moments[-1].live[i] for i in (Consumer.SAVED, Consumer.OTHER)] == [0, array + 4]


def test_what_a_derivative_reads_is_there_while_it_makes_its_gradient():
    """It is let go at the end, before the ledger is told."""
    x = numbers(512, 512).requires_grad_()
    x.exp().sum().backward()
    with mg.profiler.memory(exact=True) as ledger:
        x.exp().sum().backward()
    moment = next(m for m in ledger.moments if m.what.startswith("the derivative of exp"))

    assert moment.live[Consumer.SAVED] == x.value.nbytes
    assert moment.inside < 0.02 * x.value.nbytes


def test_ops_that_a_checkpoint_runs_again_are_told_and_know_their_module():
    ledger = ledger_of(MLP, "checkpoint", exact=False)
    again = [moment for moment in ledger.moments if moment.what.startswith("once more")]

    assert [moment.about.op for moment in again] == 5 * ["affine", "relu"]
    assert [moment.about.module for moment in again[::2]] == [f"MLP.layers.{i}" for i in reversed(range(5))]
    assert {moment.phase for moment in again} == {"backward"}


def test_what_a_policy_keeps_is_kept_for_backward():
    net, x = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8), nn.Tanh()).float(), numbers(16, 32)
    saved = {}
    for name, kinds in (("nothing", []), ("products", [mg.ops.Affine])):
        with mg.profiler.memory(net, inputs=[x], exact=False) as ledger:
            contexts = lambda kinds=kinds: create_selective_checkpoint_contexts(kinds)  # noqa: E731
            y = checkpoint(net, x, context_fn=contexts)
            y = y.sum()
            saved[name] = ledger.live()[Consumer.SAVED]
        del y

    assert saved == {"nothing": 0, "products": 4 * 16 * (64 + 8)}


def test_what_was_let_go_before_an_op_is_not_taken_for_what_it_dropped():
    x = numbers(512, 512)
    with mg.profiler.memory(inputs=[x]) as ledger, mg.no_grad():
        y = x.tanh()
        del y
        x[0].tanh()

    assert [moment.inside for moment in ledger.moments[1:]] == [0] * 4


def test_memory_that_a_program_hands_out_again_is_counted_once():
    """What was saved for backward lay idle as nobody's, and was counted there and, in the next call, as saved."""
    ledger = ledger_of(MLP, "function", steps=3)
    counted = [moment for moment in ledger.moments if moment.what.startswith("the same program runs again")]

    assert len(counted) >= 4
    assert ledger.peak.total == pytest.approx(measured(MLP, "function"), rel=0.02)


def test_what_the_ledger_writes_is_its_own():
    x = numbers(8)
    with mg.profiler.memory(inputs=[x]) as ledger, mg.no_grad():
        for _ in range(2000):
            x.tanh()

    assert abs(ledger.moments[-1].untold) < 100_000


def test_a_call_of_a_program_is_one_op_whichever_result_has_a_history():
    """Where the first had none, it was told as an op of its own, and the program not at all."""
    x = numbers(8, 8).requires_grad_()
    f = mg.function(lambda x: (x > 0, x.tanh(), x.exp()))
    with mg.profiler.memory(exact=False) as ledger:
        _, y, z = f(x)
        (y + z).sum().backward()
    said = [moment.what for moment in ledger.moments]

    assert sum(words.startswith("the program is done") for words in said) == 2
    assert not any("bool" in words for words in said)
    with mg.profiler.memory(exact=False) as ledger, mg.no_grad():
        f(x)
    assert sum(moment.what.startswith("the program is done") for moment in ledger.moments) == 1


# -- tables ----------------------------------------------------------------------------------------------


def two_layers():
    net, x = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 4)).float(), numbers(32, 16)
    with mg.profiler.memory(net, inputs=[x], exact=False) as ledger:
        (net(x) ** 2).sum().backward()
    return net, ledger


def test_the_table_by_op_says_what_each_keeps_for_backward():
    _, ledger = two_layers()
    rows = [tuple(row) for row in ledger.table(by="op").rows]

    #  op, in, keeps, which is, times, bytes
    assert rows == [
        ("affine", "Sequential.0", "operand 0", "f32[32, 16], of the inputs", 1, 0),
        ("tanh", "Sequential.1", "its result", "f32[32, 8]", 1, 32 * 8 * 4),
        ("affine", "Sequential.2", "operand 0", "f32[32, 8]", 1, 0),  # the same array
        ("affine", "Sequential.2", "operand 1", "f32[4, 8], of the parameters", 1, 0),
        ("^2", "", "operand 0", "f32[32, 4]", 1, 32 * 4 * 4),
    ]


def test_under_vmap_the_line_is_the_users():
    """It was functools.py:909, in wrapper: the engine's own way from one function to the next."""
    x = numbers(8, 4)
    with mg.profiler.memory(inputs=x, exact=False) as ledger:
        mg.func.vmap(lambda v: (v @ x.T).tanh().sum())(x)

    places = [moment.about.place for moment in ledger.timeline() if moment.about.place is not None]
    assert places
    assert {Path(place.file).name for place in places} == {Path(__file__).name}


def test_the_tables_add_up_to_the_peak():
    net, ledger = two_layers()
    by_consumer, by_module = ledger.table(), ledger.table(by="module")

    assert [row[0] for row in by_consumer.rows] == [*CONSUMERS, "all"]
    assert by_consumer.rows[-1][2] == sum(row[2] for row in by_consumer.rows[:-1]) == ledger.peak.total
    assert by_consumer.rows[-1][1] == sum(p.value.nbytes for p in net.parameters()) * 2 + 32 * 16 * 4
    held = {row[0]: row[-1] for row in by_module.rows}
    assert sum(held.values()) == ledger.peak.total
    assert held["Sequential.0"] >= 4 * (16 * 8 + 8)
    assert "Sequential.1" in str(by_module)
    assert f"{ledger.peak.total:,}" in str(ledger)
    assert f"{ledger.peak.total:,}" in ledger._repr_html_()
    assert "at the peak</th>" in ledger._repr_html_()


def test_the_modules_have_what_a_program_keeps_until_its_end():
    """The table by module had none of it at the peak of a compiled backward."""
    ledger = ledger_of(MLP, "function", exact=False)
    table, peak = ledger.table(by="module"), ledger.peak

    column = [*table.head].index(CONSUMERS[Consumer.SAVED])
    assert sum(row[column] for row in table.rows) == peak.live[Consumer.SAVED] > 0
    assert sum(row[-1] for row in table.rows) == pytest.approx(peak.total, rel=1e-3)  # a result is whole from its step


def test_what_a_checkpoint_keeps_is_in_the_table_by_op():
    net, x = nn.Sequential(nn.Linear(16, 16), nn.Tanh()).float(), numbers(32, 16)
    with mg.profiler.memory(net, inputs=[x], exact=False) as ledger:
        y = checkpoint(net, x.tanh())
    rows = [row for row in ledger.table(by="op").rows if row[0] == "a checkpoint"]

    assert y.requires_grad
    assert [(row[3], row[-1]) for row in rows] == [("f32[32, 16]", 32 * 16 * 4)]


def test_the_widget_draws_a_ledger_however_long_it_is():
    x = numbers(8, 8)
    with mg.profiler.memory(inputs=[x], exact=False) as ledger:
        y = x
        for _ in range(900):
            y = y.tanh()
    film = MemoryTimeline(ledger)

    assert len(ledger.timeline()) == 902
    assert len(film.steps) == 301  # the highest of each three
    assert f"{ledger.peak.total:,} bytes" in film.svg


def test_the_end_of_the_block_is_of_no_pass_and_every_moment_has_the_bytes_that_were_measured():
    """The film called the end "forward", and left out bytes that only the ledger counts."""
    with mg.profiler.memory() as ledger:
        mg.ones(1000) * 2
    ledger.moments[1] = ledger.moments[1]._replace(untold=-100)  # as when an array from before the block is freed
    film = MemoryTimeline(ledger)

    assert [step["phase"] for step in film.steps] == film.phases == ["start", "forward", "end"]
    assert np.array(film.films[0]["live"]).sum(1).tolist() == [m.total for m in ledger.timeline()]
    assert f"Alive: {ledger.timeline()[1].total:,} bytes." in film.steps[1]["say"]
    assert str(ledger.timeline()[-1]).endswith("bytes at the end: the block ends")


def test_the_widget_and_the_table_have_one_peak():
    """Its bars left out what Python has, and called what an op had dropped an activation."""
    ledger = ledger_of(CNN, "eager")
    film = MemoryTimeline(ledger.timeline())
    *_, (name, _, whole, _) = ledger.table().rows

    assert (name, whole) == ("all", ledger.peak.total)
    assert f"peak {whole:,} bytes" in film.svg
    live = np.array(film.films[0]["live"])
    assert live[live.sum(1).argmax(), 7] == ledger.peak.inside
    assert repr(ledger.timeline()[0]).endswith("bytes at the start: nothing has run yet")


# -- what it costs, and what it refuses --------------------------------------------------------------------


def test_an_op_looks_only_at_what_it_changes(monkeypatch):
    """With thousands of arrays alive; the ledger once went through all of them at each op."""
    looked = []
    monkeypatch.setattr("minigrad.profiler.books.owner", lambda array: looked.append(1) or owner(array))
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    counts = []
    for n in (100, 1000):
        looked.clear()
        with mg.profiler.memory(exact=False):
            y = x
            for _ in range(n):
                y = y.tanh()
            y.sum().backward()
        counts.append(len(looked))

    assert 0 < counts[1] < 11 * counts[0]


def test_nothing_is_held_alive():
    x = numbers(64, 64)
    with mg.profiler.memory(inputs=[x], exact=False) as ledger:
        y = x.tanh()
        there = ledger.live()[Consumer.OTHER]
        del y
        gone = ledger.live()[Consumer.OTHER]

    assert (there, gone) == (64 * 64 * 4, 0)


def test_an_edit_in_place_makes_no_copy_for_who_watches():
    x = numbers(256, 256)
    with mg.profiler.memory(inputs=[x]) as ledger:
        x.add_(1)

    assert ledger.peak.total < 2.1 * x.value.nbytes  # x, and x + 1


def test_a_second_ledger_inside_is_refused():
    with mg.profiler.memory(), pytest.raises(RuntimeError, match="another ledger is open"), mg.profiler.memory():
        pass
    assert not tracemalloc.is_tracing()


def test_a_ledger_is_of_one_block():
    ledger = mg.profiler.memory(exact=False)
    with ledger:
        pass
    with pytest.raises(RuntimeError, match="is already used: make another"), ledger:
        pass


def test_an_exact_ledger_leaves_tracemalloc_to_whoever_has_it():
    tracemalloc.start()
    try:
        with pytest.raises(RuntimeError, match=r"tracemalloc is already on.*or pass exact=False"), mg.profiler.memory():
            pass
        with mg.profiler.memory(exact=False):
            pass
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_tracemalloc_is_off_after_an_error():
    with pytest.raises(ZeroDivisionError), mg.profiler.memory():
        1 / 0  # noqa: B018
    assert not tracemalloc.is_tracing()


@pytest.mark.parametrize("asked", [lambda ledger: ledger.peak, lambda ledger: ledger.table(), MemoryTimeline])
def test_what_was_not_begun_cannot_be_read(asked):
    with pytest.raises(RuntimeError, match="has seen nothing yet: run a step in"):
        asked(mg.profiler.memory())


@pytest.mark.parametrize(("given", "match"), [
    ({"model": lambda x: x}, "takes a Module and an optimizer"),
    ({"optimizer": "Adam"}, r"an optimizer of mg\.optim, and got 'Adam'"),
    ({"inputs": [np.ones(3)]}, "inputs are tensors"),
])  # fmt: skip
def test_what_is_no_model_optimiser_or_input_is_refused(given, match):
    with pytest.raises(TypeError, match=match):
        mg.profiler.memory(**given)


def test_a_table_by_something_else_is_refused():
    with mg.profiler.memory(exact=False) as ledger, pytest.raises(ValueError, match="'module', 'op', 'line'"):
        ledger.table(by="file")


def test_arrays_of_another_device_are_refused():
    there = mg.Tensor(np.ones(3), device="simulated")
    with pytest.raises(ValueError, match=r"counts the memory of the CPU, and an input is f64\[3\]@simulated: move it"):
        mg.profiler.memory(inputs=there)
    with mg.profiler.memory(), pytest.raises(ValueError, match=r"the CPU, and Tanh gave f64\[3\]@simulated"):
        there.tanh()
    assert not tracemalloc.is_tracing()
