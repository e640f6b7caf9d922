"""Small integers: PyTorch's numbers and gradients, the products of the integers themselves, and what they cost."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, ops
from minigrad import quantization as mq
from minigrad.engine.base.errors import DTypeError, ShapeError, StateError
from minigrad.nn.quantization.affine import exact
from minigrad.nn.utils import prune
from tests.support.table import table

STRANGE = [np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0, -0.0, 1e-30]
RANGES = [(-128, 127), (0, 255), (-8, 7), (0, 1), (-2, 1), (0, 65535), (-32768, 32767)]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")


@pytest.fixture
def ao(torch):
    from torch.ao import quantization

    return quantization


def draws(n, seed=0):
    """Arrays, scales and ranges at random, ties and strange numbers among them."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        low, high = RANGES[i % len(RANGES)]
        scale = float(np.float32(rng.choice([2.0 ** rng.integers(-9, 5), rng.uniform(1e-6, 3)])))
        zero = int(rng.integers(low, high + 1))
        x = rng.normal(size=rng.integers(1, 5, rng.integers(1, 5))) * scale * (high - low)
        x = np.where(rng.random(x.shape) < 0.2, (np.round(x / scale) + 0.5) * scale, x)  # a tie
        yield rng, x, scale, zero, low, high


# -- one number: rounding, and the gradient straight through ------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fake_quantize_is_pytorchs_bit_for_bit_with_its_gradient(torch, dtype):
    for rng, x, scale, zero, low, high in draws(60):
        with np.errstate(over="ignore"):
            x = np.concatenate([x.ravel(), STRANGE]).astype(dtype)
        gy = rng.normal(size=x.shape).astype(dtype)
        theirs = torch.tensor(x, requires_grad=True)
        ours = mg.tensor(x, requires_grad=True)

        y = torch.fake_quantize_per_tensor_affine(theirs, scale, zero, low, high)
        y.backward(torch.tensor(gy))
        with np.errstate(over="ignore", invalid="ignore"):
            z = mg.fake_quantize_per_tensor_affine(ours, scale, zero, low, high)
            z.backward(gy)

        np.testing.assert_array_equal(z.numpy(), y.detach().numpy())
        np.testing.assert_array_equal(ours.grad.numpy(), theirs.grad.numpy())


def test_fake_quantize_of_bfloat16_is_pytorchs_with_its_gradient(torch):
    x = np.random.default_rng(14).normal(size=300).astype("f4")
    theirs, ours = torch.tensor(x).bfloat16().requires_grad_(), mg.tensor(x, dtype=mg.bfloat16, requires_grad=True)

    y = torch.fake_quantize_per_tensor_affine(theirs, 0.1, 3, -8, 7)
    y.sum().backward()
    z = mg.fake_quantize_per_tensor_affine(ours, 0.1, 3, -8, 7)
    z.sum().backward()

    assert z.dtype == mg.bfloat16
    np.testing.assert_array_equal(z.detach().float().numpy(), y.detach().float().numpy())
    np.testing.assert_array_equal(ours.grad.float().numpy(), theirs.grad.float().numpy())


def test_fake_quantize_per_channel_is_pytorchs_bit_for_bit_with_its_gradient(torch):
    for rng, x, scale, _, low, high in draws(60, seed=1):
        x, axis = x.astype("f4"), int(rng.integers(x.ndim))
        n = x.shape[axis]
        scales, zeros = (scale * rng.uniform(0.5, 2, n)).astype("f4"), rng.integers(low, high + 1, n).astype("i4")
        gy = rng.normal(size=x.shape).astype("f4")
        theirs, ours = torch.tensor(x, requires_grad=True), mg.tensor(x, requires_grad=True)

        args = torch.tensor(scales), torch.tensor(zeros), axis, low, high
        y = torch.fake_quantize_per_channel_affine(theirs, *args)
        y.backward(torch.tensor(gy))
        z = mg.fake_quantize_per_channel_affine(ours, scales, zeros, axis, low, high)
        z.backward(gy)

        np.testing.assert_array_equal(z.numpy(), y.detach().numpy())
        np.testing.assert_array_equal(ours.grad.numpy(), theirs.grad.numpy())


def test_an_infinite_number_goes_to_its_own_end_in_a_channel_too():
    """PyTorch 2.13 sends ∞ to the lowest integer where there are channels, and to the highest where there are none."""
    y = mg.fake_quantize_per_channel_affine(np.array([[np.inf, -np.inf]], "f4"), [0.5], [0], 0, -8, 7)

    assert y.tolist() == [[3.5, -4.0]]


def test_every_world_rounds_alike():
    x, s, z = np.linspace(-3, 3, 24, dtype="f4").reshape(4, 6), np.float32(0.3), 2

    def f(x):
        return (mg.fake_quantize_per_tensor_affine(x, s, z, -8, 7) * x).sum()

    def slope(x):
        (gx,) = mg.autograd.grad(f(x), x)
        return gx

    leaf = mg.tensor(x, requires_grad=True)
    eager = slope(leaf)

    for options in ({}, {"jit_compile": True}):
        assert mg.function(f, **options)(leaf).item() == pytest.approx(f(leaf).item(), rel=1e-6)  # a sum, in any order
        np.testing.assert_array_equal(mg.function(slope, **options)(leaf).numpy(), eager.numpy())
    np.testing.assert_array_equal(mg.vmap(mg.func.grad(f))(mg.tensor(x)).numpy(), eager.numpy())


def test_a_compiled_mask_is_cut_where_the_eager_one_is():
    """A compiler made x · (1 / s) an x / s, by which one more number at the end of the range was inside."""
    s, x = np.float32(0.5440813899040222), np.full(3, 4.080610275268555, "f4")

    def slope(x):
        return mg.func.grad(lambda x: mg.fake_quantize_per_tensor_affine(x, s, 0, -8, 7).sum())(x)

    assert np.rint(x / s).tolist() != np.rint(x * (1 / s)).tolist()
    for f in (slope, mg.function(slope), mg.function(slope, jit_compile=True), mg.jit(slope)):
        assert f(mg.tensor(x)).tolist() == [0, 0, 0]


def test_the_second_derivative_of_rounding_is_that_of_a_ramp():
    x = mg.tensor([0.2, 5.0, -0.4], requires_grad=True)

    (gx,) = mg.autograd.grad((mg.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7) ** 3).sum(), x, create_graph=True)
    (ggx,) = mg.autograd.grad(gx.sum(), x)

    np.testing.assert_allclose(ggx.numpy(), [6 * 0.2, 0, -6 * 0.4], rtol=1e-6)  # 6 y where the slope is 1; s is float32


# -- integers -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integers_are_those_of_pytorch(torch, dtype):
    """Of PyTorch's two, its reference: `torch.quantize_per_tensor` adds the zero point before a half is rounded."""
    import torch.ao.quantization.fx._decomposed

    ends = np.iinfo(dtype)
    for rng, x, scale, _, _, _ in draws(60, seed=2):
        x, zero = x.astype("f4"), int(rng.integers(ends.min, ends.max + 1))
        q = mg.quantize_per_tensor(x, scale, zero, dtype)

        args = torch.tensor(x), scale, zero, ends.min, ends.max, getattr(torch, dtype)
        np.testing.assert_array_equal(q.int_repr(), torch.ops.quantized_decomposed.quantize_per_tensor(*args).numpy())
        theirs = torch.quantize_per_tensor(torch.tensor(x), scale, zero, getattr(torch, f"q{dtype}"))
        tied = np.abs(x / np.float32(scale) % 1 - 0.5) < 1e-5 * np.maximum(1, np.abs(x / scale))
        np.testing.assert_array_equal(q.int_repr().numpy()[~tied], theirs.int_repr().numpy()[~tied])
        back = mg.tensor(theirs.dequantize().numpy()[~tied])
        np.testing.assert_allclose(q.dequantize().numpy()[~tied], back, rtol=1e-6)  # FBGEMM fuses a multiply and add


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_integers_of_channels_are_those_of_pytorch(torch):
    rng = np.random.default_rng(3)
    x, scales = rng.normal(size=(3, 4, 5)).astype("f4"), rng.uniform(0.01, 0.1, 4)
    zeros = rng.integers(-60, 60, 4)

    q = mg.quantize_per_channel(x, scales, zeros, 1)
    theirs = torch.quantize_per_channel(torch.tensor(x), torch.tensor(scales), torch.tensor(zeros), 1, torch.qint8)

    np.testing.assert_array_equal(q.int_repr().numpy(), theirs.int_repr().numpy())
    np.testing.assert_allclose(q.dequantize().numpy(), theirs.dequantize().numpy(), rtol=1e-6)
    assert (q.axis, q.zero_point.dtype, q.values.spec.nbytes) == (1, np.int32, 60)


def test_steps_are_where_the_numbers_are():
    """On a device, a scale given as a number stayed on the CPU, and so did what an observer had not seen yet."""
    device, rng = mg.device("simulated"), np.random.default_rng(12)
    model, x = network(), images()
    there, moved = copy.deepcopy(model).to(device), x.to(device)

    for make in (to_integers, lambda model, x: mq.prepare_qat(model), lambda model, x: mq.quantize_dynamic(model)):
        found, wanted = make(there, moved)(moved), make(model, x)(x)
        np.testing.assert_array_equal(found.cpu().detach().numpy(), wanted.detach().numpy())
    weight = rng.normal(size=(3, 4)).astype("f4")
    args = [0.1, 0.2, 0.3], [0, 1, 2], 0, -8, 7
    faked = mg.fake_quantize_per_channel_affine(mg.tensor(weight).to(device), *args)
    np.testing.assert_array_equal(faked.cpu().numpy(), mg.fake_quantize_per_channel_affine(weight, *args).numpy())


def test_integers_with_a_scale_are_no_tuple_to_calculate_with():
    """q * 2 was a tuple of 8 things."""
    q = mg.quantize_per_tensor([[1.0, 2.0]], 0.1, 0)

    for f in (lambda: q * 2, lambda: 2 * q, lambda: q + q):
        with pytest.raises(TypeError, match=r"q\.dequantize\(\)"):
            f()


def test_an_axis_may_be_counted_from_the_right():
    """The integers were right, and what they stand for could not be said."""
    x = np.random.default_rng(13).normal(size=(2, 3)).astype("f4")
    grid = [0.1, 0.2, 0.3], [0, 1, 2]
    observer, other = mq.PerChannelMinMaxObserver(-1), mq.PerChannelMinMaxObserver(1)
    observer(x), other(x)

    right = mg.quantize_per_channel(x, *grid, -1).dequantize()

    assert right.tolist() == mg.quantize_per_channel(x, *grid, 1).dequantize().tolist()
    s, z = observer.calculate_qparams()
    assert observer.fake_quantize(mg.tensor(x), s, z).tolist() == other.fake_quantize(mg.tensor(x), s, z).tolist()


def test_what_is_faked_is_what_the_integers_stand_for():
    for _, x, scale, zero, low, high in draws(20, seed=4):
        if (low, high) == (-8, 7):
            q = mg.quantize_per_tensor(x.astype("f4"), scale, max(zero, low), quant_min=low, quant_max=high)
            faked = mg.fake_quantize_per_tensor_affine(x.astype("f4"), scale, zero, low, high)
            assert q.int_repr().numpy().min() >= low
            np.testing.assert_array_equal(q.dequantize().numpy(), faked.numpy())


@pytest.mark.parametrize(("k", "dtype"), [(1, "f4"), (1024, "f4"), (1025, "f8"), (131071, "f8")])
def test_integer_products_are_exact_at_the_bounds_of_floats(k, dtype):
    """1024 products of (−128)² are 2²⁴, the last number up to which float32 has them all; one more needs float64."""
    x, y = np.full((1, k), -128, "i1"), np.full((k, 1), -128, "i1")
    x[0, 0], y[0, 0] = 127, 127  # an odd sum: in float32 it would be rounded

    z = mg.quantization.int_matmul(x, y)

    assert (z.dtype, z.item()) == (np.int32, (x.astype("i8") @ y.astype("i8")).item())
    assert exact(k, 128 * 128) == np.dtype(dtype)
    if k > 1025:
        assert (x.astype("f4") @ y.astype("f4")).item() != z.item()


def test_a_sum_that_int32_may_not_hold_is_refused():
    with pytest.raises(DTypeError, match="131072 products of up to 16,384"):
        mq.int_matmul(np.zeros((1, 131072), "i1"), np.zeros((131072, 1), "i1"))
    with pytest.raises(DTypeError, match="multiplies integers"):
        mq.int_matmul(np.zeros((1, 2)), np.zeros((2, 1), "i1"))


def test_integer_products_at_random_are_those_of_int64():
    rng = np.random.default_rng(5)
    for kinds in (("i1", "i1"), ("u1", "i1"), ("u1", "u1")):
        m, k, n = rng.integers(1, 700, 3)
        x, y = (rng.integers(np.iinfo(d).min, np.iinfo(d).max + 1, s, d) for d, s in zip(kinds, ((m, k), (k, n))))
        np.testing.assert_array_equal(mq.int_matmul(x, y).numpy(), x.astype("i8") @ y.astype("i8"))


# -- observers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["affine", "symmetric"])
@pytest.mark.parametrize("ends", [{}, {"quant_min": 0, "quant_max": 15}, {"quant_min": 0, "quant_max": 126}])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_observers_say_pytorchs_scales_and_zero_points(torch, ao, dtype, ends, scheme):
    rng = np.random.default_rng(6)
    kinds = ("MinMaxObserver", "MovingAverageMinMaxObserver", "PerChannelMinMaxObserver")
    for name in kinds:
        for centre in (0, 5, -5, 0.3):
            qscheme = f"per_{'channel' if 'Channel' in name else 'tensor'}_{scheme}"
            theirs = getattr(ao, name)(dtype=getattr(torch, f"q{dtype}"), qscheme=getattr(torch, qscheme), **ends)
            ours = getattr(mq, name)(dtype=dtype, qscheme=qscheme, **ends)
            for _ in range(3):
                x = (rng.normal(size=(4, 3)) * rng.exponential() + centre).astype("f4")
                theirs(torch.tensor(x))
                assert ours(mg.tensor(x)).tolist() == x.tolist()
            for mine, other in zip(ours.calculate_qparams(), theirs.calculate_qparams(), strict=True):
                np.testing.assert_array_equal(mine.numpy().ravel(), other.numpy().ravel())


def test_a_range_of_nothing_but_zeros_has_the_least_scale():
    for scheme in ("affine", "symmetric"):
        observer = mq.MinMaxObserver(qscheme=f"per_tensor_{scheme}")
        observer(mg.tensor(np.zeros(3)))

        assert [t.item() for t in observer.calculate_qparams()] == [np.finfo("f4").eps, 128 * (scheme == "symmetric")]


def test_a_layer_with_a_qconfig_of_its_own_has_that_one_dynamically_too():
    """quantize_dynamic took that of its kind, whatever the layer said."""
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)).float()
    model[0].qconfig = mq.per_channel_dynamic_qconfig

    assert [layer.weight_scale.shape for layer in mq.quantize_dynamic(model)] == [(3,), ()]


@pytest.mark.parametrize("kind", ["MinMaxObserver", "MovingAverageMinMaxObserver", "PerChannelMinMaxObserver"])
def test_an_empty_batch_changes_nothing(ao, torch, kind):
    """Of no elements there is no extreme, and a loader's last batch was refused; channels were 0 from then on."""
    ours, theirs = getattr(mq, kind)(), getattr(ao, kind)()
    for rows in (0, 4, 0):
        x = np.random.default_rng(rows).normal(size=(4 if rows else 0, 3)).astype("f4")
        assert ours(mg.tensor(x)).shape == theirs(torch.tensor(x)).shape == x.shape

    assert ours.min_val.tolist() == theirs.min_val.tolist()


def test_other_channels_than_before_are_refused():
    observer = mq.PerChannelMinMaxObserver()
    observer(np.ones((4, 3)))

    with pytest.raises(ShapeError, match=r"saw 4 channels, and .* has 5"):  # it was NumPy that complained
        observer(np.ones((5, 3)))


def test_integers_without_0_are_refused():
    """A symmetric range has its zero point at 0, which none of 5 to 100 stands for: every small number became 5 s."""
    with pytest.raises(ValueError, match="must include 0, got 5 to 100"):
        mq.MinMaxObserver(np.int8, "per_tensor_symmetric", 5, 100)


def test_a_percentile_leaves_the_outlier_out():
    x = np.append(np.linspace(0, 1, 1001), 1000.0)
    plain, cut = mq.MinMaxObserver(), mq.PercentileObserver(99.0)
    plain(x)
    cut(x)

    assert plain.calculate_qparams()[0].item() == pytest.approx(1000 / 255)
    assert cut.max_val.item() == pytest.approx(np.percentile(x.astype("f4"), 99.5))


def test_an_observer_follows_in_a_compiled_step_as_it_does_eagerly():
    eager, traced = mq.MovingAverageMinMaxObserver(), mq.MovingAverageMinMaxObserver()
    follow = mg.function(traced)
    for i in range(3):
        x = mg.tensor(np.arange(4, dtype="f4") * (i + 1) - 1)
        eager(x)
        follow(x)

    assert traced.state_dict().keys() == {"min_val", "max_val"}
    assert [b.item() for b in traced.buffers()] == [b.item() for b in eager.buffers()]


# -- layers -----------------------------------------------------------------------------------------


def network():
    mg.manual_seed(0)
    layers = nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5, bias=False)
    return nn.Sequential(*layers).float()


def to_integers(model, x, *config):
    """The model in small integers, with the scales that x has."""
    prepared = mq.prepare(model, *config)
    prepared(x)
    return mq.convert(prepared)


def images(n=8, seed=0):
    return mg.tensor(np.random.default_rng(seed).normal(0.3, 1, (n, 2, 4, 4)).astype("f4"))


def by_hand(layer, x, sx, zx):
    """The layer in integers of NumPy, 64 bits wide, window by window."""
    w, sw = layer.weight_int.numpy().astype("i8"), layer.weight_scale.numpy()
    q = np.clip(np.rint(x * (1 / sx)).astype("i8") + zx, 0, 255) - zx
    if w.ndim == 2:
        return (q @ w.T).astype("f4") * (sx * sw)
    q = np.pad(q, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(q, (3, 3), (2, 3))
    parts = [np.einsum("nchwij,ocij->nohw", windows[:, [g]], w[2 * g : 2 * g + 2]) for g in range(2)]
    total = np.concatenate(parts, 1).astype("f4")
    return total * (sx * sw)[:, None, None] + layer.bias.numpy()[:, None, None]


def test_a_converted_model_computes_what_the_integers_give():
    model = to_integers(network(), images())
    x = images(seed=1).numpy() * 2  # some of it beyond the range

    for layer in (model[0], model[3]):
        s, z = layer.input_scale.numpy(), int(layer.input_zero_point)
        x = x if layer is model[0] else np.maximum(x, 0).reshape(8, -1)
        expected = by_hand(layer, x, s, z)
        np.testing.assert_array_equal(layer(mg.tensor(x)).numpy(), expected)
        x = expected


def test_a_model_trained_with_rounding_is_the_model_it_is_converted_to():
    model = mq.prepare_qat(network())
    optimizer = mg.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (model(images()) ** 2).mean().backward()
        optimizer.step()
    model.eval()

    small, x = mq.convert(model), images(seed=2)

    np.testing.assert_allclose(small(x).numpy(), model(x).numpy(), rtol=1e-4, atol=1e-6)  # one sum is of floats
    extremes = {f"{i}.activation.{end}_val" for i in (0, 3) for end in ("min", "max")}
    assert model.state_dict().keys() == network().state_dict().keys() | extremes


def test_training_with_rounding_is_the_same_in_a_compiled_step():
    def trained(compile):
        model = mq.prepare_qat(network())
        optimizer = mg.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        step = mg.function(step) if compile else step
        return [step(images(seed=i)).item() for i in range(3)], model.state_dict()

    (eager, state), (compiled, other) = trained(False), trained(True)

    assert eager == compiled
    assert all(np.array_equal(state[name].numpy(), other[name].numpy()) for name in state)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_dynamic_linear_is_within_a_step_of_pytorchs(torch, ao, per_channel):
    """PyTorch's kernel uses 7 of 8 bits of the input (reduce_range), so its step is twice ours."""
    rng = np.random.default_rng(7)
    theirs = torch.nn.Sequential(torch.nn.Linear(30, 7))
    ours = nn.Sequential(nn.Linear(30, 7)).float()
    ours.load_state_dict({name: p.detach().numpy() for name, p in theirs.named_parameters()})
    x = rng.normal(size=(9, 30)).astype("f4")
    spec = {torch.nn.Linear: ao.per_channel_dynamic_qconfig} if per_channel else {torch.nn.Linear}
    mine = {nn.Linear: mq.per_channel_dynamic_qconfig} if per_channel else {nn.Linear}

    with pytest.warns(DeprecationWarning, match="torch.ao.quantization"):
        y = ao.quantize_dynamic(theirs, spec, torch.qint8)
    z = mq.quantize_dynamic(ours, mine)

    weight = y[0].weight()
    np.testing.assert_array_equal(z[0].weight_int.numpy(), weight.int_repr().numpy())
    scale = weight.q_per_channel_scales().numpy() if per_channel else weight.q_scale()
    np.testing.assert_allclose(z[0].weight_scale.numpy(), scale, rtol=1e-7)
    step = (x.max() - x.min()) / 127 * np.abs(ours[0].weight.numpy()).sum(1) / 2
    assert (np.abs(z(mg.tensor(x)).numpy() - y(torch.tensor(x)).numpy()) <= step).all()


def test_a_converted_model_is_saved_loaded_copied_and_compiled():
    model, x = to_integers(network(), images()), images(seed=3)
    other = to_integers(nn.Sequential(*network()).float(), images(seed=9))

    other.load_state_dict(model.state_dict())

    for same in (other, copy.deepcopy(model), mg.function(model), mg.function(model, jit_compile=True)):
        np.testing.assert_allclose(same(x).numpy(), model(x).numpy(), rtol=1e-6)  # a compiler may fuse * and +
    state = model.state_dict()
    assert state["3.weight_int"].dtype == np.int8
    assert sum(t.spec.nbytes for t in state.values()) == (4 * 9 + 4 * (4 + 4 + 4 + 2)) + (5 * 64 + 4 * (5 + 5 + 2))


def test_integers_are_no_halves_where_products_are_cast():
    """In a block of autocast the sums of integers came as bfloat16, which has eight bits of them."""
    rng, x = np.random.default_rng(15), images(seed=4)
    a, b = rng.integers(-128, 128, (5, 60), "i1"), rng.integers(-128, 128, (60, 7), "i1")
    models = to_integers(network(), x), mq.quantize_dynamic(network(), {nn.Linear, nn.Conv2d})
    expected = [model(x).tolist() for model in models]

    with mg.autocast(dtype=mg.bfloat16):
        product = mq.int_matmul(a, b)
        results = [model(x) for model in models] + [mg.function(model)(x) for model in models]

    np.testing.assert_array_equal(product.numpy(), a.astype("i8") @ b.astype("i8"))
    assert [y.tolist() for y in results] == [*expected, *expected]


@pytest.mark.parametrize("dtype", ["u1", "i8"])
def test_integers_are_taken_as_the_floats_that_they_are(dtype):
    """The result had the dtype of the input: of pictures in uint8 it was cut to whole numbers, zeros most of it."""
    whole = (images() * 8).relu()
    prepared, trained = mq.prepare(network()), mq.prepare_qat(network())
    prepared(whole), trained(whole)
    models = network(), prepared, trained.eval(), mq.convert(prepared), mq.quantize_dynamic(network())

    for model in models:
        y, wanted = model(whole.astype(dtype)), model(whole.astype(dtype).float())
        assert y.dtype == models[0](whole.astype(dtype)).dtype
        np.testing.assert_allclose(y.detach().numpy(), wanted.detach().numpy(), 1e-5, 1e-6)


def stages():
    """A model in floats, and what becomes of it."""
    prepared = mq.prepare(network())
    prepared(images())
    dynamic = {nn.Linear: mq.QConfig(mq.PercentileObserver, mq.MinMaxObserver.with_args(dtype=np.int8))}
    models = prepared, mq.prepare_qat(network()), mq.convert(prepared), mq.quantize_dynamic(network())
    return network(), *models, mq.quantize_dynamic(network(), dynamic)


def test_an_empty_batch_has_an_empty_result():
    """A dynamic layer asked for the extremes of nothing, and so did one in training that had seen no data yet."""
    for model in stages():
        assert model(images(0)).shape == (0, 5)
        assert mg.function(model)(images(0)).shape == (0, 5)


def test_each_stage_is_pickled():
    """Its classes were to be found under no name."""
    for model in stages():
        same, x = pickle.loads(pickle.dumps(model)), images()
        assert same(x).tolist() == model(x).tolist()


def test_layers_under_two_names_stay_one_and_names_and_hooks_stay():
    shared = nn.Linear(4, 4).float()
    model, seen = nn.Sequential(shared, shared), []
    shared.register_forward_hook(lambda *_: seen.append(1))

    small = mq.quantize_dynamic(model)

    assert small[0] is small[1]
    assert type(model[0]) is nn.Linear
    small(mg.tensor(np.ones((2, 4), "f4")))
    assert len(seen) == 2


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_pruned_layer_becomes_integers_without_its_mask(dynamic):
    """weight_orig and weight_mask stayed in the state of the layer in integers, eight bytes a weight."""
    model = network()
    prune.l1_unstructured(model[3], "weight", 0.75)

    small = mq.quantize_dynamic(model)[3] if dynamic else to_integers(model, images())[3]

    of_input = {"activation.min_val", "activation.max_val"} if dynamic else {"input_scale", "input_zero_point"}
    assert {*small.state_dict()} == {"weight_int", "weight_scale", "weight_zero_point"} | of_input
    assert np.count_nonzero(small.weight_int.numpy()) == 80
    assert not prune.is_pruned(small)


def test_what_has_no_qconfig_stays_in_floats():
    model = network()
    model[0].qconfig = None

    assert " ".join(type(part).__name__ for part in mq.prepare(model)) == "Conv2d ReLU Flatten ObservedLinear"
    rounded = mq.prepare_qat(model, inplace=True)
    assert " ".join(type(part).__name__ for part in rounded) == "Conv2d ReLU Flatten RoundedLinear"
    assert type(model[3]).__name__ == "RoundedLinear"


@pytest.mark.parametrize(
    ("weight", "k", "dtype"), [("i1", 514, "f4"), ("i1", 515, "f8"), ("u1", 258, "f4"), ("u1", 259, "f8")]
)
def test_a_layer_takes_the_floats_that_are_exact_at_its_bounds(weight, k, dtype):
    """Sums of k products are 2²⁴ at most: of 255 and 128 to k = 514; of 255 and 255, with a zero point, to k = 258."""
    layer, x = nn.Linear(k, 1, bias=False).float(), mg.tensor(np.ones((1, k), "f4"))
    layer.weight.value[...] = -1
    layer.weight.value[0, 0] = 0.003  # so that the sum is odd
    scheme = "per_tensor_affine" if weight == "u1" else "per_tensor_symmetric"
    observer = mq.MinMaxObserver.with_args(dtype=weight, qscheme=scheme)

    small = mq.quantize_dynamic(layer, {nn.Linear: mq.QConfig(mq.MinMaxObserver, observer)})
    w = small.weight_int.numpy().astype("i8") - small.weight_zero_point.numpy()

    assert small.exact == np.dtype(dtype)
    assert small(x).item() == np.float32((255 * w).sum()) * (np.float32(1 / 255) * small.weight_scale.numpy())


def test_weights_of_few_bits_and_with_a_zero_point_are_computed_with_it():
    weight = mq.MinMaxObserver.with_args(dtype=np.uint8, quant_max=15)
    x = mg.tensor(np.random.default_rng(8).normal(size=(5, 6)).astype("f4"))
    small = to_integers(nn.Linear(6, 3).float(), x, mq.QConfig(mq.PercentileObserver, weight))
    q, s, z = (t.numpy() for t in (small.weight_int, small.weight_scale, small.weight_zero_point))

    inputs = mg.fake_quantize_per_tensor_affine(x, small.input_scale, small.input_zero_point, 0, 255).numpy()

    assert q.max() == 15
    assert 0 < z < 15
    np.testing.assert_allclose(small(x).numpy(), inputs @ ((q - z) * s).T + small.bias.numpy(), rtol=1e-5, atol=1e-6)


# -- what is refused ------------------------------------------------------------------------------------


def ruined():
    """A model whose last weight has an element that is no number."""
    model = network()
    model[3].weight.value[0, 0] = np.nan
    return model


WRONG_AXIS = mq.QConfig(mq.MinMaxObserver, mq.PerChannelMinMaxObserver.with_args(ch_axis=1))
INPUT_CHANNELS = mq.QConfig(mq.PerChannelMinMaxObserver, mq.MinMaxObserver)
REFUSED = {
    "a scale must be above 0": (ValueError, lambda: mg.quantize_per_tensor([1.0], 0.0, 0)),
    "got nan": (ValueError, lambda: mg.fake_quantize_per_tensor_affine([1.0], np.nan, 0, 0, 255)),
    "integers 0 to 255": (ValueError, lambda: mg.fake_quantize_per_tensor_affine([1.0], 0.1, 256, 0, 255)),
    "got 0.5": (ValueError, lambda: mg.fake_quantize_per_tensor_affine([1.0], 0.1, 0.5, 0, 255)),
    "at most 24 bits": (ValueError, lambda: mg.fake_quantize_per_tensor_affine([1.0], 0.1, 0, 0, 2**30)),
    "got -8.5 and 7": (ValueError, lambda: mg.fake_quantize_per_tensor_affine([1.0], 0.1, 0, -8.5, 7)),
    "got None and 1": (ValueError, lambda: mq.prepare(network(), WRONG_AXIS)),
    "got 0 and None": (ValueError, lambda: mq.quantize_dynamic(network(), {nn.Linear: INPUT_CHANNELS})),
    "got 5 and 4": (ValueError, lambda: mg.fake_quantize_per_tensor_affine([1.0], 0.1, 5, 5, 4)),
    "int8 has the integers -128 to 127": (ValueError, lambda: mq.MinMaxObserver(dtype=np.int8, quant_max=255)),
    "int8 or uint8": (DTypeError, lambda: mg.quantize_per_tensor([1.0], 0.1, 0, np.int32)),
    "only floats can be quantised": (DTypeError, lambda: mg.quantize_per_tensor([1], 0.1, 0)),
    r"shape \(2,\)": (ShapeError, lambda: mg.quantize_per_channel([[1.0], [2.0]], [0.1] * 3, [0] * 3, 0)),
    "contains NaN": (ValueError, lambda: mg.quantize_per_tensor([np.nan], 0.1, 0)),
    "per_channel_affine, per_channel_sym":
        (ValueError, lambda: mq.PerChannelMinMaxObserver(qscheme="per_tensor_affine")),
    "percentile": (ValueError, lambda: mq.PercentileObserver(0)),
    "averaging_constant": (ValueError, lambda: mq.MovingAverageMinMaxObserver(2.0)),
    "Sequential was not prepared": (StateError, lambda: mq.convert(network())),
    r"layer '0' cannot .* has seen no data": (StateError, lambda: mq.convert(mq.prepare(network()))),
    "layer '3' cannot be converted: a scale .* got nan": (ValueError, lambda: mq.quantize_dynamic(ruined())),
    "already prepared or converted": (StateError, lambda: mq.prepare(mq.prepare(network()))),
    "ReLU has no Linear or Conv2d": (StateError, lambda: mq.prepare(nn.ReLU())),
    "not LSTM in int8": (DTypeError, lambda: mq.quantize_dynamic(network(), {nn.LSTM})),
    "Linear in float16": (DTypeError, lambda: mq.quantize_dynamic(network(), dtype=np.float16)),
    r"seen no data: call .* in train\(\)": (StateError, lambda: mq.prepare_qat(network()).eval()(images())),
}  # fmt: skip


@table("said", REFUSED)
def test_nonsense_is_refused_by_name(said):
    error, call = REFUSED[said]
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(("bad", "said"), [(np.nan, "nan to nan"), (np.inf, "to inf")])
def test_calibrating_on_what_has_no_scale_is_refused(bad, said):
    prepared = mq.prepare(nn.Linear(2, 2))
    prepared(mg.tensor([[1.0, bad]]))

    with np.errstate(invalid="ignore"), pytest.raises(StateError, match=said):
        mq.convert(prepared)


def test_a_graph_of_what_has_seen_no_data_gives_no_number():
    with np.errstate(invalid="ignore"):
        assert np.isnan(mg.function(mq.prepare_qat(network()).eval())(images()).numpy()).all()


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_no_number_stays_none_through_a_layer_of_integers(dynamic):
    """There is no integer for nan: it became the lowest, and the result was a number like any other."""
    layer = nn.Linear(2, 2).float()
    model = mq.quantize_dynamic(layer) if dynamic else to_integers(layer, mg.tensor(np.ones((1, 2), "f4")))
    x = mg.tensor(np.array([[1.0, np.nan]], "f4"))

    with np.errstate(invalid="ignore"):
        assert np.isnan(model(x).numpy()).all()
        assert np.isnan(mg.function(model)(x).numpy()).all()


def test_rounding_is_an_op_that_says_its_cost_and_that_its_slope_is_an_estimate():
    op = ops.FakeQuantize(-8, 7)
    x, s = mg.tensor(np.ones((3, 4), "f4")), mg.tensor(np.float32(1))

    assert op.estimated
    assert op.flops(x.spec, x.spec, s.spec, s.spec) % 12 == 0
