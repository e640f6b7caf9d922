"""Layers of small integers in ONNX: QDQ that ONNX Runtime fuses, with the numbers of the converted model."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad import quantization as mq
from tests.nn.test_quantization import to_integers

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)

FLOATS = {"Conv", "Gemm", "MatMul", "FusedMatMul", "FusedConv", "FusedGemm"}
conv = partial(nn.Conv2d, kernel_size=3)
NETS = {
    "mlp": lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)),
    "three axes": lambda: nn.Sequential(nn.Unflatten(1, (4, 4)), nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)),
    "cnn": lambda: nn.Sequential(
        *(nn.Unflatten(1, (1, 4, 4)), conv(1, 8, padding=1), nn.ReLU(), conv(8, 8, stride=2, padding=1, groups=4)),
        *(nn.ReLU(), nn.Flatten(), nn.Linear(32, 4)),
    ),
    "no bias": lambda: nn.Sequential(nn.Linear(16, 32, bias=False), nn.ReLU(), nn.Linear(32, 4)),
    "reflected": lambda: nn.Sequential(
        *(nn.Unflatten(1, (1, 4, 4)), conv(1, 8, padding=1, padding_mode="reflect"), nn.ReLU(), nn.Flatten()),
        nn.Linear(128, 4),
    ),
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def batch(n=32, dtype=np.float32):
    return mg.tensor(np.random.default_rng(n).normal(size=(n, 16)).astype(dtype))


def run(path, x, optimized=""):
    """In ONNX Runtime, where products of int8 are exact on every processor."""
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.optimized_model_filepath = str(optimized)
    made = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return made.run(None, {made.get_inputs()[0].name: x.numpy()})[0]


def kinds(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def agree(y, wanted):
    """Within one step of what is wanted, were it in 8 bits itself."""
    assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(y, wanted.numpy(), rtol=0, atol=np.ptp(wanted.numpy()) / 255)


@pytest.mark.parametrize("name", NETS)
def test_layers_are_fused_and_give_the_numbers_of_the_converted_model(name, path, tmp_path):
    mg.manual_seed(0)
    x = batch()
    model = to_integers(NETS[name]().float(), x)
    before = {k: v.numpy() for k, v in model.state_dict().items()}

    mg.onnx.export(model, x, path, dynamic_axes={"input": [0]})

    np.testing.assert_equal({k: v.numpy() for k, v in model.state_dict().items()}, before)
    arrays = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    weights = [k for k in before if k.endswith("weight_int")]
    assert all(arrays[k].dtype == np.int8 and np.array_equal(arrays[k], before[k]) for k in weights)
    assert kinds(path).count("QuantizeLinear") == len(weights)
    for given in (x, batch(5)):
        agree(run(path, given, tmp_path / "fused.onnx"), model(given))
        agree(mg.onnx.load(path)(given).numpy(), model(given))
    in_floats = {"Conv"} if name == "reflected" else set()  # the padding stands between
    assert FLOATS.intersection(kinds(tmp_path / "fused.onnx")) == in_floats


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats_are_quantised_in_single_precision(dtype, path):
    x = batch(dtype=dtype)
    model = to_integers(nn.Sequential(nn.Linear(16, 8), nn.ReLU()).to(dtype), x)

    mg.onnx.export(model, x, path)

    agree(run(path, x), model(x))


@pytest.mark.parametrize("weight", [{"dtype": np.uint8}, {"dtype": np.int8, "quant_min": -8, "quant_max": 7}])
def test_parts_of_the_range_and_one_scale_for_a_weight(weight, path):
    activation = mq.MinMaxObserver.with_args(quant_min=0, quant_max=127)
    config = mq.QConfig(activation, mq.MinMaxObserver.with_args(**weight))
    model = to_integers(nn.Linear(16, 4).float(), batch(), config)
    far = batch() * 3  # beyond what was seen

    mg.onnx.export(model, far, path)

    np.testing.assert_allclose(run(path, far), model(far).numpy(), atol=1e-3)


def test_a_bias_that_int32_does_not_hold_stays_a_float(path):
    net = nn.Linear(16, 4).float().requires_grad_(False)
    net.weight[0], net.bias[0] = 0.0, 1e5  # a channel of zeros has the smallest of steps
    model = to_integers(net, batch())

    mg.onnx.export(model, batch(), path)

    np.testing.assert_allclose(run(path, batch()), model(batch()).numpy(), rtol=1e-6, atol=1e-4)


def test_in_a_function_or_with_a_scale_for_each_input_the_integers_are_computed_as_here(path):
    net, x = NETS["mlp"]().float(), batch()
    model = to_integers(net, x)

    mg.onnx.export(lambda x: (model(x),), x, path)
    np.testing.assert_allclose(run(path, x), model(x).numpy(), atol=1e-6)
    assert "QuantizeLinear" not in kinds(path)

    dynamic = mq.quantize_dynamic(net)
    mg.onnx.export(dynamic, x, path)
    agree(run(path, x), dynamic(x))


@pytest.mark.parametrize("bias", [1e3, 2e4, 1e6, -1e9])
def test_sums_that_int32_does_not_hold_are_no_integers_of_the_engine(bias, path):
    """ONNX Runtime made the float bias in front of a ReLU integers itself, which wrapped round: -10189 for -346610."""
    mg.manual_seed(1)
    net = NETS["mlp"]().float()
    net[0].bias.data += bias
    model = to_integers(net, batch())

    mg.onnx.export(model, batch(), path)

    agree(run(path, batch()), model(batch()))


def test_a_layer_used_twice_has_a_weight_for_each_use(path):
    """ONNX Runtime made them uint8 under one name, and could not load the file."""
    layer = nn.Linear(16, 16)
    model = to_integers(nn.Sequential(layer, nn.ReLU(), layer).float(), batch())

    mg.onnx.export(model, batch(), path)

    agree(run(path, batch()), model(batch()))
    assert mg.onnx.load(path)(batch()).isclose(model(batch()), atol=0.02).all()


def calibration(x):
    """As ONNX Runtime's own quantisation wants it."""
    from onnxruntime.quantization import CalibrationDataReader

    class Rows(CalibrationDataReader):
        left = iter([{"input": x.numpy()}])

        def get_next(self):
            return next(self.left, None)

    return Rows()


@pytest.mark.parametrize("maker", ["minigrad", "ONNX Runtime"])
def test_a_loaded_file_leaves_with_its_integers(maker, path, tmp_path):
    mg.manual_seed(0)
    x, net, second, third = batch(), NETS["cnn"]().float(), tmp_path / "second.onnx", tmp_path / "third.onnx"
    if maker == "minigrad":
        mg.onnx.export(to_integers(net, x), x, path)
    else:
        from onnxruntime.quantization import QuantType, quantize_static

        mg.onnx.export(net.eval(), x, tmp_path / "floats.onnx")
        quantize_static(tmp_path / "floats.onnx", path, calibration(x), per_channel=True, weight_type=QuantType.QInt8)

    mg.onnx.export(mg.onnx.load(path), x, second)
    mg.onnx.export(mg.onnx.load(second), x, third)

    assert kinds(second).count("QuantizeLinear") == kinds(path).count("QuantizeLinear") > 0
    assert kinds(second) == kinds(third)
    np.testing.assert_allclose(run(second, x), run(path, x), atol=1e-5)
    assert second.stat().st_size < 1.5 * path.stat().st_size
