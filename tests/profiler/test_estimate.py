"""mg.profiler.estimate: what it says is what a real run does, to the last FLOP and byte, and what PyTorch counts."""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, ops, zoo
from minigrad.engine.base.errors import DeviceError, GraphError, NoValueError, ShapeError
from minigrad.engine.core.modes import watching
from minigrad.engine.core.node import history
from minigrad.engine.core.versions import owner
from minigrad.nn.zoo.mobilenet import Scale
from minigrad.nn.zoo.transformers import Size
from minigrad.profiler import estimate
from minigrad.profiler.books import Consumer
from tests.support.peak_memory import peak_bytes
from tests.support.table import mistakes, table

F32 = {"dtype": np.float32}


class Counting:
    """The oracle: what each op of a real run says, as it runs; and backward, what each derivative is made of."""

    def __init__(self):
        self.flops = self.macs = self.backward_flops = self.backward_macs = 0
        self.reached = set()

    def on_forward(self, op, y, xs):
        specs = y.spec, *(x.spec for x in xs)
        self.flops += op.flops(*specs)
        self.macs += op.macs(*specs)

    def on_backward(self, node, gy, gxs):
        for each in node.rule.graph.nodes:
            if each.inputs:
                specs = each.spec, *(x.spec for x in each.inputs)
                self.backward_flops += each.op.flops(*specs)
                self.backward_macs += each.op.macs(*specs)
        for x, gx in zip(node.inputs, gxs):
            if gx is not None:
                self.backward_flops += gx.size if x in self.reached else 0  # a second gradient is added to the first
                self.reached.add(x)


def held(ys, model):
    """Bytes of the arrays that the records behind ys hold, each once; but not the model's own, nor Python's numbers."""
    own = {id(owner(x.value)) for x in (*model.parameters(), *model.buffers())}
    arrays = {}
    for record in history(*(y.node for y in ys)):
        for slot, array in zip(record.rule.reads, record.saved, strict=True):
            if not isinstance((record, *record.inputs)[slot].op, ops.Const):
                arrays[id(owner(array))] = owner(array)
    return sum(array.nbytes for key, array in arrays.items() if key not in own)


class TiedAndShared(nn.Module):
    """Values used twice, a weight used twice, views that copy and views that do not, a branch without a gradient."""

    def __init__(self):
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        h = self.linear(x)
        h = self.linear(h * h + 2.0).reshape(2, 3, 2, 3).swapaxes(1, 2)
        a, b = h.reshape(2, 2, 9).chunk(2, 1)
        return (a * b).tanh() + a.detach().exp() * b, (h * h).sum()


class Sequence(nn.Module):
    def __init__(self):
        self.table, self.lstm = nn.Embedding(7, 4), nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 7)

    def forward(self, tokens):
        return self.head(self.lstm(self.table(tokens))[0])


CNN = [
    *(nn.Conv2d(3, 8, 3, padding=1, **F32), nn.BatchNorm2d(8, **F32), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(8, 8, 3, groups=4, **F32), nn.GELU(), nn.Dropout(0.3), nn.AvgPool2d(2), nn.Flatten()),
    nn.Linear(8, 5, **F32),
]


def picture(n):
    return mg.randn(2, 3, n, n, **F32)


def tokens(high, *size):
    return mg.randint(0, high, size)


MODELS = {
    "a CNN in training": (lambda: nn.Sequential(*CNN).train(), picture(8)),
    "a CNN in evaluation": (lambda: nn.Sequential(*CNN).eval(), picture(8)),
    "shared values": (TiedAndShared, mg.randn(6, 6)),
    "an LSTM": (Sequence, tokens(7, 3, 4)),
    "ResNet-18": (lambda: zoo.resnet(18, 5, 4, **F32), picture(32)),
    "MobileNetV2": (lambda: zoo.MobileNetV2(0.125, 5, **F32), picture(32)),
    "EfficientNet": (lambda: zoo.EfficientNet(Scale(0.25, 0.3, 32, 0.2), 5, **F32), picture(32)),
    "GPT in training": (lambda: zoo.GPT(Size(2, 2, 8), 11, 6), tokens(11, 2, 6)),
    "GPT in evaluation": (lambda: zoo.GPT(Size(2, 2, 8), 11, 6).eval(), tokens(11, 2, 6)),
    "BERT": (lambda: zoo.BERT(Size(2, 2, 8), 11, 6), tokens(11, 2, 6)),
    "a frozen layer": (lambda: frozen(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))), mg.randn(3, 4)),
}


def frozen(net):
    net[0].requires_grad_(False)
    return net


@pytest.mark.parametrize("name", MODELS)
def test_an_estimate_is_what_a_real_run_does(name):
    make, x = MODELS[name]
    model = make()
    e = estimate(model, mg.TensorSpec.from_tensor(x))

    with watching(Counting()) as run:
        result = model(x)
        ys = result if isinstance(result, tuple) else (result,)
        kept = held(ys, model)
        run.reached.update(y.node for y in ys)  # by the gradients from outside
        mg.autograd.grad(ys, [p for p in model.parameters() if p.requires_grad], [mg.ones_like(y) for y in ys])

    assert (e.flops, e.macs) == (run.flops, run.macs)
    assert (e.backward_flops, e.backward_macs) == (run.backward_flops, run.backward_macs)
    assert e.train_flops == e.flops + e.backward_flops
    assert e.saved_bytes == kept


def test_under_autocast_an_estimate_is_what_a_real_run_does():
    net, x = nn.Sequential(*CNN).eval(), picture(8)

    with mg.autocast("cpu", dtype=mg.bfloat16):
        e = estimate(net, x)
        with watching(Counting()) as run:
            y = net(x)

    assert (e.flops, e.macs, e.saved_bytes) == (run.flops, run.macs, held([y], net))
    assert e.saved_bytes < estimate(net, x).saved_bytes


@pytest.mark.parametrize("name", ["a CNN in evaluation", "shared values", "ResNet-18", "GPT in training"])
def test_a_watched_run_gives_the_same_estimate(name):
    make, x = MODELS[name]
    model = make()

    assert str(estimate(model, x, run=True, depth=None)) == str(estimate(model, x, depth=None))


# -- what others count ------------------------------------------------------------------------------------


def counted_by_torch(make, shape):
    """FLOPs of convolutions and products, forward and backward, by PyTorch's counter."""
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    net = make(torch.nn)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # it does not count the others on a CPU
        with FlopCounterMode(display=False) as forward:
            y = net(torch.zeros(shape))
        with FlopCounterMode(display=False) as backward:
            y.sum().backward()
    return forward.get_total_flops(), backward.get_total_flops()


def convolutions(t):
    return t.Sequential(
        *(t.Conv2d(3, 8, 3, stride=2, padding=1), t.BatchNorm2d(8), t.ReLU(), t.Conv2d(8, 8, 3, dilation=2)),
        *(t.ReLU6(), t.Conv2d(8, 12, 1, bias=False), t.ConvTranspose2d(12, 4, 2), t.Flatten()),
        *(t.Linear(4 * 5 * 5, 10), t.Tanh(), t.Linear(10, 3)),
    )


def test_multiply_adds_of_a_cnn_are_those_that_pytorch_counts():
    e = estimate(convolutions(nn), (2, 3, 16, 16))

    assert (2 * e.macs, 2 * e.backward_macs) == counted_by_torch(convolutions, (2, 3, 16, 16))


def test_multiply_adds_of_groups_are_those_that_pytorch_counts():
    """Forward: backward, its counter takes each group for all channels (torch/utils/flop_counter.py, conv_backward)."""

    def grouped(t):
        wide, deep = t.Conv2d(4, 8, 3, groups=4), t.Conv2d(8, 8, 3, padding=1, groups=8)
        return t.Sequential(wide, deep, t.Conv2d(8, 6, 1, groups=2))

    e = estimate(grouped(nn), (2, 4, 9, 9))

    assert 2 * e.macs == counted_by_torch(grouped, (2, 4, 9, 9))[0]
    assert e.backward_macs == 2 * e.macs - 2 * 8 * 7 * 7 * 9  # two products as large, but for the input's gradient


def test_multiply_adds_of_a_transformer_are_those_that_pytorch_counts():
    def layer(t):
        return t.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)

    N, T, C = 2, 5, 8  # batch, tokens, channels
    e = estimate(layer(nn), (N, T, C))

    forward, backward = counted_by_torch(layer, (N, T, C))

    assert 2 * e.macs == forward
    assert 2 * e.backward_macs == backward + 2 * N * T * T * C  # attention's weights are not kept, but made again


# -- what the figures are -----------------------------------------------------------------------------------


def mlp():
    return nn.Sequential(nn.Linear(10, 20, **F32), nn.ReLU(), nn.Linear(20, 5, **F32))


def test_the_figures_of_a_small_network_by_hand():
    e = estimate(mlp(), (3, 10))

    assert (e.parameters, e.trainable, e.buffers) == (10 * 20 + 20 + 20 * 5 + 5, 325, 0)
    assert e.macs == 3 * 10 * 20 + 3 * 20 * 5
    assert e.flops == 2 * e.macs + 3 * 20 + 3 * 20 + 3 * 5  # the biases, and a relu in between
    assert e.backward_macs == 3 * 10 * 20 + 2 * 3 * 20 * 5  # no gradient of the input
    x, h, y = 3 * 10 * 4, 3 * 20 * 4, 3 * 5 * 4  # bytes
    weights = 4 * e.parameters
    assert e.bytes_moved == (x + h) + 2 * h + (h + y) + weights
    assert e.intensity == e.flops / e.bytes_moved
    assert e.saved_bytes == x + h  # of a relu its result, which the next layer keeps too
    assert e.peak_bytes == 2 * h
    assert e.inference_peak_bytes == 2 * h


def test_what_is_kept_stays_to_the_peak():
    net = nn.Sequential(*(nn.Tanh() for _ in range(5)))
    e = estimate(net, mg.tensor(np.zeros(100), requires_grad=True))

    assert (e.peak_bytes, e.inference_peak_bytes) == (5 * 800, 2 * 800)


@pytest.mark.parametrize("training", [True, False])
def test_the_peak_is_that_of_a_real_run(training):
    """In evaluation it was a third too low: a module's call holds its arguments until it returns."""
    layers = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    net, x = nn.Sequential(*layers, nn.Linear(1024, 10)).train(training), mg.randn(8, 3, 16, 16)
    peaks = []
    for mode in (mg.enable_grad, mg.no_grad):
        with mg.profiler.memory(net, inputs=x, exact=False) as ledger, mode():
            net(x)
        peaks.append(max(moment.live[Consumer.OTHER] + moment.live[Consumer.SAVED] for moment in ledger.timeline()))
    e = estimate(net, x)

    assert (e.peak_bytes, e.inference_peak_bytes) == pytest.approx(tuple(peaks), abs=100)  # constants
    with mg.no_grad():
        e = estimate(net, x)
    assert e.peak_bytes == e.inference_peak_bytes == pytest.approx(peaks[1], abs=100)
    assert (e.saved_bytes, e.backward_flops) == (0, 0)


def test_a_shape_is_of_the_type_of_the_model_though_it_has_no_parameters():
    """A quantised model is float32 by its scales, and was counted on float64."""
    net = mg.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)).float())

    assert estimate(net, (5, 4)).bytes_moved == estimate(net, mg.zeros(5, 4).float()).bytes_moved


def test_modules_and_ops_add_up_to_the_whole():
    e = estimate(zoo.resnet(18, 5, 4), (2, 3, 32, 32))

    inside = [cost for path, cost in e.by_module.items() if path.count(".") == 1]
    assert tuple(map(sum, zip(*inside)))[:2] == (e.by_module["ResNet"].flops, e.by_module["ResNet"].macs)
    assert e.by_module["ResNet"] == e.total
    assert tuple(map(sum, zip(*e.by_op.values()))) == e.total
    assert next(iter(e.by_op)) == "Convolution"
    assert e.outputs["ResNet.stem"].shape == (2, 4, 8, 8)


def test_bytes_per_parameter_are_those_that_optimizers_hold():
    """ZeRO, §3.1: 16 bytes with Adam in mixed precision; the others counted on the optimizers themselves."""

    def state(optimizer):
        remembered = [x for values in optimizer.state_dict()["state"].values() for x in values.values()]
        return sum(np.asarray(x).nbytes for x in remembered if np.ndim(x))

    net = mlp()
    said = estimate(net, (3, 10)).bytes_per_parameter
    momentum = {"momentum": 0.9}
    kinds = {"SGD": (mg.optim.SGD, {}), "SGD with momentum": (mg.optim.SGD, momentum), "Adam": (mg.optim.Adam, {})}
    for name, (kind, options) in kinds.items():
        optimizer = kind(net.parameters(), lr=0.1, **options)
        net.zero_grad()
        net(mg.randn(3, 10, **F32)).sum().backward()
        optimizer.step()
        held = sum(p.value.nbytes + p.grad.value.nbytes for p in net.parameters())
        assert said[name] * 325 == held + state(optimizer)

    assert said["Adam, mixed precision"] == 16


def test_what_does_not_learn_has_no_training_state():
    assert set(estimate(lambda x: x.exp(), (2, 3)).bytes_per_parameter.values()) == {0}


def test_checkpoint_bytes_are_those_of_the_state_dict():
    net = nn.Sequential(*CNN)
    e = estimate(net, (2, 3, 8, 8))

    assert e.checkpoint_bytes == sum(x.value.nbytes for x in net.state_dict().values())
    assert e.buffers == 8 + 8 + 1


def test_a_parameter_that_two_modules_share_is_counted_once():
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[1].weight = net[0].weight

    assert estimate(net, (2, 4)).parameters == 16 + 4 + 4


@table("f", [lambda x: x.sum(0), lambda x: x.prod(0), nn.Linear(8, 3), nn.LayerNorm(8), nn.GroupNorm(2, 8)])
def test_an_empty_batch_costs_nothing_or_more(f):
    """A sum of no rows was said to take −8 additions, and so the gradient of a bias as many."""
    found = estimate(f, mg.zeros(0, 8).requires_grad_())

    assert all(cost.flops >= 0 and cost.backward_flops >= 0 for cost in found.costs.values())


def test_the_multiply_adds_of_an_op_are_among_its_flops():
    x = mg.randn(2, 3, 4)
    products = [
        *(lambda: x @ x.mT, lambda: mg.einsum("nij,nkj->nik", x, x), lambda: nn.functional.conv1d(x, x.mT[:, :3])),
        *(lambda: nn.LSTM(4, 3)(x), lambda: nn.GRU(4, 3)(x), lambda: nn.RNN(4, 3)(x)),
    ]
    for product in products:
        with watching(Counting()) as run:
            product()
        assert 0 < 2 * run.macs <= run.flops


# -- what may be counted -----------------------------------------------------------------------------------


def test_a_function_is_counted_with_what_it_reads():
    W, net = mg.randn(3, 4, requires_grad=True), nn.Linear(4, 2)

    e = estimate(lambda x, t: mg.mse_loss(net(x @ W), t), mg.randn(5, 3), (5, 2))

    assert (e.parameters, e.macs) == (12 + 10, 5 * 3 * 4 + 5 * 4 * 2)
    assert set(e.by_module) == {"", "Linear"}
    assert "(outside of modules)" in str(e)


def test_a_model_larger_than_the_machine_takes_no_memory():
    def estimate_xl():
        with mg.device("meta"):
            net = zoo.gpt("xl", **F32)
        e = estimate(net, mg.TensorSpec((1, 1024), np.int64))
        assert e.checkpoint_bytes == 4 * 1_557_611_200
        assert e.saved_bytes > 10**10

    assert peak_bytes(estimate_xl) < 100e6


def test_a_model_is_as_it_was_after_it():
    net, x = nn.Sequential(*CNN).train(), picture(8)
    before, state = {n: v.numpy() for n, v in net.state_dict().items()}, mg.get_rng_state()

    estimate(net, x)

    assert all((before[n] == v.numpy()).all() for n, v in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())
    assert mg.get_rng_state() == state


def test_a_tensor_that_is_given_twice_is_kept_once():
    x = mg.randn(3, 4, requires_grad=True)

    assert estimate(lambda a, b: a * b, x, x).saved_bytes == 3 * 4 * 8
    assert estimate(lambda a, b: a * b, x, mg.randn(3, 4, requires_grad=True)).saved_bytes == 2 * 3 * 4 * 8


def test_numbers_among_the_arguments_are_not_shapes():
    def f(x, n, axis):
        return x.sum(axis) * n

    assert estimate(f, (2, 3), 4, axis=1).flops == 2 * (3 - 1) + 2


class Stops(nn.Module):
    """As many layers as a value says."""

    def __init__(self):
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        for _ in range(5):
            x = self.layer(x)
            if float(x.sum()) < 1e9:
                break
        return x


def test_a_model_that_asks_for_a_value_is_refused_and_counted_as_it_runs():
    net = Stops()

    with pytest.raises(NoValueError, match=r"reads one.*run=True"):
        estimate(net, (2, 3))

    assert estimate(net, mg.zeros(2, 3), run=True).macs == 2 * 3 * 3


def test_a_loop_of_a_graph_is_refused_and_counted_as_it_runs():
    def f(x):
        return mg.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (mg.tensor(0), x))[1]

    with pytest.raises(GraphError, match=r"its cost depends on values.*run=True"):
        estimate(f, (4,))

    assert estimate(f, mg.ones(4), run=True).by_op["Mul"].flops == 3 * 4


def checkpointed():
    class Net(nn.Module):
        def __init__(self):
            self.parts = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)) for _ in range(3))

        def forward(self, x):
            for part in self.parts:
                x = mg.utils.checkpoint.checkpoint(part, x)
            return x

    return Net()


def test_of_a_checkpoint_the_input_is_kept_and_the_rest_computed_again():
    net, x = checkpointed(), mg.randn(4, 8)
    plain = estimate(nn.Sequential(*net.parts), x)

    e = estimate(net, x)

    assert (e.flops, e.saved_bytes, plain.saved_bytes) == (plain.flops, 3 * 4 * 8 * 8, 6 * 4 * 8 * 8)
    part = 2 * 4 * 8 * 8 + 4 * 8 + 4 * 8  # the first Linear and the tanh: nothing reads the second's result
    assert e.backward_flops == plain.backward_flops + 3 * part
    with pytest.raises(GraphError, match=r"in a checkpoint.*without run=True"):
        estimate(net, x, run=True)


class ExpOfExp(mg.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().exp()

    @staticmethod
    def backward(ctx, gy):
        y = ctx.saved_tensors[0].exp()
        return gy * y * y.exp()


def test_a_function_of_ones_own_is_counted_by_its_backward():
    """And keeps what it saves, not what its forward computes on the way."""
    x = mg.randn(3, requires_grad=True)

    e = estimate(ExpOfExp.apply, x)

    assert (e.flops, e.backward_flops, e.saved_bytes) == (2 * 3, 4 * 3, 3 * 8)
    with pytest.raises(GraphError, match=r"a Function.*without run=True"):
        estimate(ExpOfExp.apply, x, run=True)


def test_inputs_that_do_not_fit_are_refused_by_the_module():
    net = zoo.resnet(18, 5, 4)

    with pytest.raises(ShapeError, match="needs x") as caught:
        estimate(net, (1, 4, 32, 32))

    assert caught.value.__notes__ == ["in the module ResNet.stem.0.0"]


def test_a_traced_model_is_counted_as_the_model():
    net = zoo.resnet(18, 5, 4)

    traced = estimate(mg.function(net), mg.randn(2, 3, 32, 32))

    assert (traced.macs, traced.parameters) == (estimate(net, (2, 3, 32, 32)).macs, 44_937)
    assert [*traced.by_module][:3] == ["ResNet", "ResNet.stem", "ResNet.stem.0"]
    assert str(traced) == str(estimate(net, mg.randn(2, 3, 32, 32)))  # kinds of modules and buffers, too


@pytest.mark.parametrize("dtype", [np.float16, mg.bfloat16])
def test_half_precision_takes_half_the_bytes(dtype):
    def counted(dtype):
        with mg.device("meta"):
            return estimate(zoo.GPT(Size(1, 2, 8), 11, 6, dtype=dtype), mg.TensorSpec((2, 6), np.int64))

    half, single = counted(dtype), counted(np.float32)
    assert (2 * half.checkpoint_bytes, half.macs) == (single.checkpoint_bytes, single.macs)
    assert half.bytes_per_parameter["Adam"] == 8


MISTAKES = {
    "neither a model nor a function":
        (lambda: estimate(3, (2, 2)), *(TypeError, "a Module, or a function of tensors, and got 3")),
    "no tensor comes out": (lambda: estimate(lambda x: None, (3,)), GraphError, "returned no tensor"),
    "a length that is open":
        (lambda: estimate(mlp(), mg.TensorSpec((None, 10), np.float32)), *(ShapeError, "has unknown lengths")),
    "a length below 0": (lambda: estimate(mlp(), (-1, 10)), ShapeError, "whole numbers, 0 or more"),
    "no length": (lambda: estimate(mlp(), (None, 10)), ShapeError, "whole numbers, 0 or more"),
    "a setting that is taken for a shape":
        (lambda: estimate(nn.functional.max_pool2d, (1, 3, 8, 8), kernel_size=(2, 2)),
         *(NoValueError, "tuple of integers is taken as the shape of a tensor")),
}  # fmt: skip

test_a_clear_sentence_answers = mistakes(MISTAKES)


# -- how it is shown ---------------------------------------------------------------------------------------


def test_the_table_says_what_a_mac_is_and_goes_as_deep_as_asked():
    e = estimate(zoo.resnet(18, 5, 4), (2, 3, 32, 32), depth=1)

    lines = str(e).splitlines()
    modules = [line.split()[0] for line in lines[2:] if line.startswith(("R", "  "))]
    assert "1 MAC = 2 FLOPs" in str(e)
    assert f"{e.parameters:,} in float64; buffers" in str(e)
    assert "\N{NO-BREAK SPACE}" not in str(e)
    assert modules == ["ResNet", "stem", "stages", "pool", "head"]
    assert len(e.table(0).splitlines()) < len(e.table(1).splitlines()) == len(lines) < len(e.table().splitlines())
    assert re.search(rf"head +Linear +f64\[2, 5\] +{32 * 5 + 5} +{2 * 32 * 5} ", str(e))


def test_the_page_says_the_same_as_the_text():
    e = estimate(nn.Sequential({"<b>": nn.Linear(3, 2)}), (1, 3))

    page = e._repr_html_()

    for words in ("module", "parameters", "MACs", "\N{NO-BREAK SPACE}&lt;b&gt;", "1 MAC = 2 FLOPs"):
        assert words in page
    for attribute in ('role="img"', 'class="mg-widget"'):
        assert attribute in page
    assert "<b>" not in page
    assert (page.count('<th scope="row"'), page.count('<th scope="col"')) == (2, 7)
    assert f"&lt;b&gt;: {e.train_flops} FLOPs, 100.0%" in page


def test_boxes_of_the_picture_are_as_wide_as_the_share_of_flops():
    net = nn.Sequential(nn.Linear(10, 30, bias=False), nn.Linear(30, 10, bias=False))

    boxes = re.findall(r'mg-bar mg-(\w+)".*?<rect [^>]*width="([\d.]+)"', estimate(net, (1, 10))._repr_html_())
    assert [float(w) for kind, w in boxes if kind == "module"] == [860, 860, 860 * 2 / 5, 860 * 3 / 5]  # as they run
    assert [float(w) for kind, w in boxes if kind == "backward"] == [860 / 5, 860 * 2 / 5]


# -- tensors without elements --------------------------------------------------------------------------------


def test_a_tensor_without_elements_has_a_shape_and_no_number():
    with mg.device("meta"):
        x = mg.ones(2, 3, requires_grad=True)
        scalar = mg.tensor(4.0)

    assert repr(x) == "tensor(..., device='meta', size=(2, 3), requires_grad=True)"
    for ask in (x.numpy, scalar.item, lambda: float(scalar), lambda: x.to("cpu")):
        with pytest.raises(NoValueError, match="no elements"):
            ask()
    with pytest.raises(DeviceError, match="one device"):
        x + mg.ones(2, 3)


def test_ops_on_tensors_without_elements_give_their_shapes_forward_and_backward():
    with mg.device("meta"):
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 2))
        x = mg.randn(5, 3, 8, 8)
    y = net(x)
    y.sum().backward()

    assert y.shape == (5, 2)
    assert [p.grad.shape for p in net.parameters()] == [p.shape for p in net.parameters()]


def test_initialisers_of_tensors_without_elements_do_nothing():
    def initialise():
        with mg.device("meta"):
            W = nn.Linear(10**5, 10**6).weight
        for name in ("normal_", "orthogonal_", "trunc_normal_", "kaiming_uniform_", "eye_", "zeros_"):
            assert getattr(nn.init, name)(W) is W

    assert peak_bytes(initialise) < 1e6


def test_a_device_block_is_where_new_tensors_are_made():
    with mg.device("meta"):
        with mg.device("cpu"):
            inner = mg.zeros(2)
        outer = [mg.zeros(2), mg.tensor([1.0]), mg.arange(3), mg.rand(2), nn.Linear(2, 2).weight]
        said = mg.zeros(2, device="cpu")

    assert str(inner.spec.device) == "cpu"
    assert [str(x.spec.device) for x in (*outer, said)] == ["meta"] * 5 + ["cpu"]
    assert str(mg.zeros(2).spec.device) == "cpu"
