"""The cost model: the formulas against figures that the papers print, and plans against what they say."""

import doctest

import numpy as np
import pytest
from minigrad.zoo.transformers import TransformerBlock

import minigrad as mg
from minigrad.distributed import cost, simulator
from minigrad.distributed.algorithms import ALL_REDUCE
from minigrad.distributed.cost import formulas, plan
from minigrad.distributed.cost.plan import Workload, workload
from minigrad.distributed.schedules import bubble_fraction
from tests.support.table import mistakes, table

# -- 101 published figures ---------------------------------------------------------------------------------

MEGATRON = [  # Narayanan et al. 2021, table 1: 10⁹ parameters, heads, hidden, layers, GPUs, TFLOP/s a GPU, PFLOP/s
    (1.7, 24, 2304, 24, 32, 137, 4.4), (3.6, 32, 3072, 30, 64, 138, 8.8), (7.5, 32, 4096, 36, 128, 142, 18.2),
    (18.4, 48, 6144, 40, 256, 135, 34.6), (39.1, 64, 8192, 48, 512, 138, 70.8), (76.1, 80, 10240, 60, 1024, 140, 143.8),
    (145.6, 96, 12288, 80, 1536, 148, 227.1), (310.1, 128, 16384, 96, 1920, 155, 297.4),
    (529.6, 128, 20480, 105, 2520, 163, 410.2), (1008.0, 160, 25600, 128, 3072, 163, 502.0),
]  # fmt: skip
ZERO = {  # Rajbhandari et al. 2020, table 1: 10⁹ parameters → workers → GB of stages 1, 2 and 3
    7.5: {4: (52.5, 41.3, 30), 16: (35.6, 21.6, 7.5), 64: (31.4, 16.6, 1.88), 256: (30.4, 15.4, 0.47),
          1024: (30.1, 15.1, 0.12)},
    128: {4: (896, 704, 512), 16: (608, 368, 128), 64: (536, 284, 32), 256: (518, 263, 8), 1024: (513, 257, 2)},
    1000: {4: (7000, 5500, 4000), 16: (4750, 2875, 1000), 64: (4187, 2218, 250), 256: (4046, 2054, 62.5),
           1024: (4011, 2013, 15.6)},
}  # fmt: skip
KORTHIKANTI = {"GPT-3 175B": (96, 12288, 80, 0.70, 0.027), "MT-NLG 530B": (128, 20480, 64, 0.65, 0.016)}
GPIPE = {(2, 32): 1.8, (4, 32): 3.4, (8, 32): 6.3, (4, 1): 1.07, (8, 1): 1.3, (2, 4): 1.7, (4, 4): 3.2, (8, 4): 4.8}
CHINCHILLA = [  # Hoffmann et al. 2022, table 3: parameters, FLOPs, tokens
    (0.4e9, 1.92e19, 8e9), (1e9, 1.21e20, 20.2e9), (10e9, 1.23e22, 205.1e9), (67e9, 5.76e23, 1.5e12),
    (175e9, 3.85e24, 3.7e12), (280e9, 9.90e24, 5.9e12), (520e9, 3.43e25, 11e12), (1e12, 1.27e26, 21.2e12),
    (1e13, 1.30e28, 216.2e12),
]  # fmt: skip
GPT3 = {"Small": (0.125e9, 2.25e20), "13B": (12.85e9, 2.31e22), "175B": (174.6e9, 3.14e23)}
S, V = 2048, 51200  # tokens and vocabulary of Megatron-LM's models


def published():
    """Where it is printed → (by our formulas, as printed, relative tolerance)."""
    for size, _, hidden, layers, gpus, each, aggregate in MEGATRON:
        parameters = cost.transformer_parameters(layers, hidden, V, S)
        yield f"Megatron table 1: parameters of {size}B", parameters / 1e9, size, 0.01
        yield f"Megatron table 1: PFLOP/s of {size}B", gpus * each / 1e3, aggregate, 0.015
    runs = ("GPT-3", 175e9, 300e9, 1024, 140e12, 34), ("1T", 1e12, 450e9, 3072, 163e12, 84)
    for name, n, tokens, gpus, rate, days in runs:
        ours = cost.training_flops(n, tokens, True) / (gpus * rate) / 86400
        yield f"Megatron §5.1: days for {name}", ours, days, 0.03
    for size, rows in ZERO.items():
        for workers, gigabytes in rows.items():
            for stage, printed in enumerate(gigabytes, 1):
                ours = cost.zero_bytes(size, workers, stage)
                yield f"ZeRO table 1: {size}B, N = {workers}, stage {stage}", ours, printed, 0.03
    for name, (heads, hidden, scores, share, extra) in KORTHIKANTI.items():
        whole, rest = (cost.activation_bytes(S, 1, hidden, heads, recompute=r) for r in ("none", "selective"))
        yield f"Korthikanti §5: 5as/h of {name}", (whole - rest) / (S * hidden), scores, 0.001
        yield f"Korthikanti §5: share of attention, {name}", (whole - rest) / whole, share, 0.02
        flops, twice = (cost.transformer_flops(1, s, 96, hidden, 1, False) / s for s in (S, 2 * S))
        ours = (twice - flops) / (2 * flops - twice)
        yield f"Korthikanti §5: FLOPs of selective recomputation, {name}", ours, extra, 0.05
    for (stages, microbatches), speedup in GPIPE.items():
        ours = stages * (1 - bubble_fraction(stages, microbatches))
        yield f"GPipe table 2: Transformer, K = {stages}, M = {microbatches}", ours, speedup, 0.1
    for n, printed, tokens in CHINCHILLA:
        yield f"Chinchilla table 3: FLOPs of {n:.3g} parameters", cost.training_flops(n, tokens), printed, 0.05
    for name, (n, printed) in GPT3.items():
        yield f"GPT-3 table D.1: FLOPs of {name}", cost.training_flops(n, 300e9), printed, 0.01
    peak = 6144 * 275e12
    yield "PaLM appendix B: MFU", cost.mfu(238.3e3, 540.35e9, peak, attention=118 * 48 * 256 * 2048), 0.462, 0.005
    yield "PaLM appendix B: MFU without attention", cost.mfu(238.3e3, 540.35e9, peak), 0.457, 0.005
    yield "Llama 3 §1: FLOPs of 405B", cost.training_flops(405e9, 15.6e12), 3.8e25, 0.01
    for rate, share in ((430, 0.43), (400, 0.41), (380, 0.38)):
        ours = cost.mfu(rate * 1e12 / (6 * 405e9), 405e9, cost.hardware("H100").flops[2])
        yield f"Llama 3 table 4: MFU at {rate} TFLOP/s", ours, share, 0.03
    yield "Goyal §4: MB of ResNet-50's gradients", cost.zero_bytes(25.5e6, 1, 0, 0, 4, 0) / 1e6, 100, 0.03
    bits = 8 * cost.all_reduce(100e6, 10**6, 0.0, 1.0) / 0.12
    yield "Goyal §4: Gbit/s of 2 × 100 MB in 0.12 s (15 are printed, with overhead)", bits / 1e9, 13.3, 0.02


EXCEPTIONS = {  # → why
    "Megatron table 1: parameters of 1.7B": "printed with two digits: 1.652 is 1.7",
    "Megatron table 1: parameters of 3.6B": "printed with two digits: 3.562 is 3.6",
    "GPipe table 2: Transformer, K = 8, M = 1": "batch sizes were adjusted to fit memory: speeds are not of one batch",
    "GPipe table 2: Transformer, K = 4, M = 4": "likewise",
    "GPipe table 2: Transformer, K = 8, M = 4": "likewise",
}
PUBLISHED = {name: figures for name, *figures in published()}


def test_there_are_101_published_figures_and_96_hold():
    off = {name for name, (ours, printed, tolerance) in PUBLISHED.items() if abs(ours / printed - 1) > tolerance}

    assert len(PUBLISHED) == 101
    assert off == set(EXCEPTIONS)


def test_formulas_count_products_and_parameters_one_by_one():
    """A layer has 12h² + 13h parameters; each of its weights is 6 FLOPs a token, each pair of tokens 12h."""
    small, h, layers, s, v = 124_439_808, 768, 12, 1024, 50257  # zoo.gpt's, with a norm behind the layers

    assert cost.transformer_parameters(layers, h, v, s) == pytest.approx(small - 2 * h, rel=1e-14)
    pairs = s * s * layers * h
    for recompute, n in ((False, 12), (True, 16)):
        wanted = 6 * s * (n * layers * h * h + h * v) + n * pairs
        assert cost.transformer_flops(1, s, layers, h, v, recompute) == pytest.approx(wanted)


def test_zero_divides_the_optimizer_first_then_gradients_then_parameters():
    kept = [cost.zero_bytes(10, 5, stage, weight=1, gradient=4, optimizer=8) for stage in (0, 1, 2, 3)]

    assert kept == [130, 50 + 16, 10 + 8 + 16, 26]


# -- collectives -------------------------------------------------------------------------------------------


@table("p", [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 31, 64])
@pytest.mark.parametrize("algorithm", ALL_REDUCE)
def test_a_collective_costs_what_its_messages_do_one_by_one(algorithm, p):
    """alpha=1 counts rounds, beta=1 bytes of who sends most. All parts are of whole bytes."""
    n = 64 * p
    for alpha, beta in ((1, 0), (0, 1)):
        counted = simulator.all_reduce(np.zeros(p), n, alpha, beta, algorithm)[0].max()
        assert counted == pytest.approx(cost.all_reduce(n, p, alpha, beta, algorithm=algorithm))


def test_no_algorithm_sends_fewer_bytes_than_the_ring_nor_fewer_messages_than_log_p():
    for p in range(2, 130):
        sent = {each: cost.all_reduce(1.0, p, 0.0, 1.0, algorithm=each) for each in ALL_REDUCE}
        waits = {each: cost.all_reduce(1.0, p, 1.0, 0.0, algorithm=each) for each in ALL_REDUCE}

        assert sent["ring"] == 2 * (p - 1) / p
        assert min(sent.values()) == pytest.approx(sent["ring"])
        assert min(waits.values()) >= np.log2(p)
        assert cost.bus_bandwidth(1.0, p, cost.all_reduce(1.0, p, 0.0, 1e-9)) == pytest.approx(1e9)


def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather():
    parts = cost.reduce_scatter(800, 8, 3.0, 0.5, 0.25) + cost.all_gather(800, 8, 3.0, 0.5)

    assert cost.all_reduce(800, 8, 3.0, 0.5, 0.25) == parts == 2 * 7 * 3 + 700 * (0.5 + 0.25 + 0.5)
    assert cost.all_to_all(800, 8, 3.0, 0.5) == 7 * 3 + 700 * 0.5
    assert cost.broadcast(800, 8, 3.0, 0.5) == 3 * (3 + 400)


# -- plans -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpt3():
    with mg.device("meta"):
        model = mg.zoo.gpt("175b", dtype=mg.float16)
    return mg.profiler.estimate(model, mg.TensorSpec((2, S), mg.int64))


@pytest.fixture(scope="module")
def perceptron():
    layers = [layer for _ in range(4) for layer in (mg.nn.Linear(64, 64, dtype=mg.float32), mg.nn.ReLU())]
    return mg.profiler.estimate(mg.nn.Sequential(*layers), mg.TensorSpec((8, 64), mg.float32))


def test_what_is_read_of_an_estimate_is_what_the_papers_say_of_gpt3(gpt3):
    work = workload(gpt3)

    assert (work.layers, work.width, work.heads) == (96, 2, 96)
    assert work.boundary == 2 * S * 12288
    assert work.parameters == pytest.approx(cost.transformer_parameters(96, 12288, 50257, S), rel=1e-3)
    assert work.flops == pytest.approx(cost.transformer_flops(1, S, 96, 12288, 50257, False), rel=1e-2)
    # The paper's masks are a byte each, and it keeps no scores before the softmax; ours keeps 19 percent more.
    assert work.kept == pytest.approx(96 * cost.activation_bytes(S, 1, 12288, 96), rel=0.25)


CUTS = {  # of the same table: 10⁹ parameters → tensor, pipeline, batch
    7.5: (4, 1, 512), 18.4: (8, 1, 1024), 39.1: (8, 2, 1536), 76.1: (8, 4, 1792), 145.6: (8, 8, 2304),
    310.1: (8, 16, 2160), 529.6: (8, 35, 2520), 1008.0: (8, 64, 3072),
}  # fmt: skip


@pytest.mark.parametrize("row", MEGATRON[2:], ids=lambda row: f"{row[0]}B")
def test_megatrons_runs_are_as_quick_as_they_measured(row):
    """Narayanan et al. 2021, table 1, at 0.6 of the peak where nobody waits.

    Within 16 percent: products of their smaller models are less efficient, which one number for all does not say.
    """
    size, heads, hidden, layers, gpus, rate, _ = row
    tensor, pipeline, batch = CUTS[size]
    kept = layers * cost.activation_bytes(S, 1, hidden, heads)
    flops = cost.transformer_flops(1, S, layers, hidden, V, False)
    model = Workload(cost.transformer_parameters(layers, hidden, V, S), 2, flops, kept, layers, 2 * S * hidden, heads)
    shares = {"data": gpus // (tensor * pipeline), "tensor": tensor, "pipeline": pipeline, "recompute": True}
    plan = cost.step(model, "A100", batch, 0.6, **shares)

    ours = cost.transformer_flops(batch, S, layers, hidden, V) / plan.seconds / gpus
    assert ours == pytest.approx(rate * 1e12, rel=0.16)
    assert plan.nbytes < 80e9


ROW = cost.Hardware("row", {4: 1e9}, 1e9, 2, (1.0, 0.001), (2.0, 0.01), "a test")
TOY = Workload(parameters=1000, width=4, flops=6e9, kept=4e6, layers=4, boundary=100.0, heads=8)


def test_a_plan_worked_out_by_hand():
    """8 samples of 6 GFLOP at 0.5 GFLOP/s; links of 1 s and 1 ms a byte in a node of two, 2 s and 10 ms to others."""
    alone = cost.step(TOY, ROW, 8)
    data = cost.step(TOY, ROW, 8, data=4)
    tensor = cost.step(TOY, ROW, 8, tensor=2)
    pipeline = cost.step(TOY, ROW, 8, pipeline=4)

    nothing = {"tensor": 0, "pipeline": 0, "bubble": 0, "data": 0}
    assert alone.seconds_of == {"compute": 96, **nothing}
    assert alone.bytes_of == {"state": 16 * 1000, "activations": 4e6}
    # 4000 bytes among 4, two in each node, which have two links: the quickest of ring, tree and halving
    ring, tree, halving = 6 * 2 + 6000 * 0.005, 4 * (2 + 4000 * 0.005), 4 * 2 + 6000 * 0.005
    assert data.seconds_of["compute"] == 24
    assert data.seconds_of["data"] == min(ring, tree, halving)  # one bucket, which nothing hides
    assert tensor.seconds_of == nothing | {"compute": 48, "tensor": 8 * 4 * 4 * 2 * (1 + 0.05)}
    assert tensor.bytes_of == {"state": 16 * 500, "activations": 2e6}
    sent = 2 * 8 * (1 + 0.1)
    assert pipeline.seconds_of["pipeline"] == pytest.approx(sent)
    assert pipeline.seconds_of["bubble"] == pytest.approx((24 + sent) * 3 / 8)
    assert pipeline.bytes_of == {"state": 16 * 250, "activations": 4e6}  # 4 micro-batches at a time, a quarter of each


def test_recomputation_is_a_forward_more_and_keeps_what_comes_into_the_layers():
    plan = cost.step(TOY, ROW, 8, recompute=True, microbatch=2)

    assert plan.seconds_of["compute"] == pytest.approx(96 * 4 / 3)
    assert plan.bytes_of["activations"] == 2 * (4e6 / 4 + 4 * 100)


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_what_zero_sends_and_keeps(zero):
    """Rajbhandari et al. 2020, §7: 2Ψ, 2Ψ, 2Ψ and 3Ψ where there is one micro-batch."""
    bytes_only = ROW._replace(inside=(1e-12, 1.0), between=(1e-12, 1.0))
    plan = cost.step(TOY._replace(flops=1e-3), bytes_only, 8, data=8, zero=zero)

    assert plan.seconds_of["data"] == pytest.approx(4 * 1000 * 7 / 8 * (3 if zero == 3 else 2), rel=1e-6)
    assert plan.bytes_of["state"] == cost.zero_bytes(1000, 8, zero, 4, 4, 8)


def test_gradients_are_sent_while_backward_goes_on():
    """Of 1 GB all but the last bucket is hidden, if backward takes long enough; or what is longer than backward."""
    large = TOY._replace(parameters=250_000_000, flops=3e9)
    slow, quick = (ROW._replace(inside=(1e-9, beta)) for beta in (1e-7, 1e-10))

    assert cost.step(large, quick, 2, data=2).seconds_of["data"] == pytest.approx(1e9 * 1e-10 * 25e6 / 1e9, rel=1e-3)
    assert cost.step(large, slow, 2, data=2).seconds_of["data"] == pytest.approx(1e9 * 1e-7 - 6 * 2 / 3, rel=1e-3)


def test_the_best_plan_is_the_quickest_that_fits(gpt3):
    found = cost.plans(gpt3, "A100", 1024, 1536)
    best = cost.best_plan(gpt3, "A100", 1024, 1536)

    assert best.nbytes <= 80e9
    assert all(plan.nbytes > 80e9 for plan in found if plan.seconds < best.seconds)
    assert best[:3] == (16, 8, 8)  # Megatron-LM has 8 and 8 for a model of 146 billion
    assert cost.best_plan(gpt3, "A100", 1024, 1536, memory=40e9).seconds > best.seconds
    assert str(best).startswith("data=16, tensor=8, pipeline=8, zero=1, microbatch=1, recompute=False: 24.8 s a step (")
    with pytest.raises(ValueError, match=r"none of 4\d\d plans fits in 1 GB: the smallest is .*zero=3"):
        cost.best_plan(gpt3, "A100", 1024, 1536, memory=1e9)


def test_a_model_without_attention_is_not_cut_by_tensors(perceptron):
    work = workload(perceptron)

    assert (work.layers, work.boundary, work.heads) == (4, 4 * 64, 0)
    assert {plan.tensor for plan in cost.plans(perceptron, "laptop", 4, 8)} == {1}
    with pytest.raises(ValueError, match="the 0 heads of each layer, and got 2"):
        cost.step(perceptron, "laptop", 8, tensor=2)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_the_heads_of_attention_are_counted_with_and_without_dropout(dropout):
    blocks = [TransformerBlock(16, heads=4, dropout=dropout) for _ in range(2)]
    assert workload(mg.profiler.estimate(mg.nn.Sequential(*blocks), (2, 8, 16))).heads == 4


def test_layers_that_are_not_most_of_a_model_are_no_stages():
    """ResNet's blocks differ in width, so that no equal stages can be made of them."""
    with mg.device("meta"):
        model = mg.zoo.resnet(18, dtype=mg.float32)
    found = mg.profiler.estimate(model, (2, 3, 64, 64))

    assert workload(found).layers == 1
    with pytest.raises(ValueError, match="pipeline must divide the 1 equal layers, and got 2"):
        cost.step(found, "laptop", 4, pipeline=2)


# -- what is refused ---------------------------------------------------------------------------------------


test_nonsense_is_refused_in_words = mistakes([
    (lambda: cost.all_reduce(8, 0, 1.0, 1.0), "p ≥ 1 workers"),
    (lambda: cost.all_reduce(-8, 2, 1.0, 1.0), "n ≥ 0 bytes"),
    (lambda: cost.all_reduce(8, 2, -1.0, 1.0), "α, β, γ ≥ 0"),
    (lambda: cost.all_reduce(8, 2.5, 1.0, 1.0), "got n=8, p=2.5"),
    (lambda: cost.all_reduce(8, 2, 1.0, 1.0, algorithm="rings"), "are ring, tree, halving, and got 'rings'"),
    (lambda: cost.bus_bandwidth(8, 2, 0.0), "seconds must be above 0, and got 0"),
    (lambda: cost.zero_bytes(1e9, 4, 4), "stages 0, 1, 2 and 3, and got 4"),
    (lambda: cost.zero_bytes(1e9, -4, 3), "workers must be above 0, and got -4"),
    (lambda: cost.activation_bytes(1, 1, 1, 1, recompute="half"), "and got 'half'"),
    (lambda: cost.checkpoint_interval(0, 1), "checkpoint must be above 0"),
    (lambda: cost.hardware("B300"), "hardware is one of H100, A100, laptop, or your own .* got 'B300'"),
    (lambda: cost.hardware(ROW._replace(memory=0)), "links of a machine must be above 0"),
    (lambda: cost.step(TOY, "H100", 8, pipeline=3), "must divide the 4 equal layers, and got 3"),
    (lambda: cost.step(TOY, "H100", 8, tensor=3), "tensor must divide the 8 heads of each layer"),
    (lambda: cost.step(TOY, "H100", 8, data=3), "must divide the batch of 8, and got 3 × 1"),
    (lambda: cost.step(TOY, "H100", 8, zero=3, pipeline=2), "ZeRO 3 moves everything for each micro-batch"),
    (lambda: cost.step(TOY, "H100", 8, zero=4), "stages 0, 1, 2 and 3, and got 4"),
    (lambda: cost.step(TOY, "H100", 8, zero=-1), "stages 0, 1, 2 and 3, and got -1"),
    (lambda: cost.step(TOY, "H100", 8, 40), "efficiency is a share of the peak"),
    (lambda: cost.step(TOY, "H100", 8, data=0), "data must be above 0, and got 0"),
    (lambda: cost.step(TOY._replace(width=8), "H100", 8), "bytes, and the model's numbers have 8"),
    (lambda: cost.best_plan(TOY, "H100", 7, 8), "no plan divides a batch of 8 among 7 workers"),
    (lambda: workload(mg.profiler.estimate(lambda x: x + 1, (2, 3))), "a model with parameters"),
], ValueError)  # fmt: skip


@pytest.mark.parametrize("name", plan.HARDWARE)
def test_a_row_of_hardware_says_where_it_is_from_and_links_are_slower_outside(name):
    row = cost.hardware(name)

    assert len(row.source) > 40
    assert row.link(row.per_node) == row.inside
    assert row.link(2, row.per_node) == row.between
    assert row.link(2 * row.per_node)[1] == max(row.inside[1], row.between[1] / row.per_node)


@pytest.mark.parametrize("module", [formulas, plan])
def test_examples_in_docstrings_run(module):
    found = doctest.testmod(module, extraglobs={"mg": mg})

    assert (found.failed, found.attempted > 0) == (0, True)
