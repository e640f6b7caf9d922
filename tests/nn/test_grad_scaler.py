"""GradScaler beside PyTorch's, step by step; what it refuses; and what is lost in half precision without it."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import functional as F
from minigrad.engine.base.errors import DTypeError, GraphError

quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow is what it is about

FINE, OVER, NO_NUMBER = 1.0, float("inf"), float("nan")
STEPS = [FINE, FINE, OVER, FINE, FINE, FINE, NO_NUMBER, OVER, FINE, FINE, FINE, FINE, FINE]


def trace(m, optimizer, scaler, optimizers=1):
    """After each of 13 steps: scale, tracker, whether the step was taken, and the parameters."""
    ws = [m.tensor([1.0, -2.0, 0.5], dtype=m.float32, requires_grad=True) for _ in range(optimizers)]
    opts = [optimizer([w]) for w in ws]
    told = []
    for i, c in enumerate(STEPS):
        for k, (w, opt) in enumerate(zip(ws, opts, strict=True)):
            opt.zero_grad()
            loss = ((w * w).sum() + w[0] * i) * (c if k == 0 else FINE)
            scaler.scale(loss).backward()
            if i % 4 == 1:
                scaler.unscale_(opt)
        before = [w.tolist() for w in ws]
        for opt in opts:
            scaler.step(opt)
        scaler.update()
        taken = [w.tolist() != old for w, old in zip(ws, before, strict=True)]
        state = scaler.state_dict()
        told.append((state["scale"], state["_growth_tracker"], taken, [w.tolist() for w in ws]))
    return told


@quiet
@pytest.mark.parametrize("optimizers", [1, 2])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_thirteen_steps_are_pytorchs(name, optimizers):
    torch = pytest.importorskip("torch")
    options = {"init_scale": 2.0**10, "growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 3}
    mine, theirs = (
        trace(m, lambda p, m=m: getattr(m.optim, name)(p, lr=0.01), m.amp.GradScaler("cpu", **options), optimizers)
        for m in (mg, torch)
    )

    assert [step[:3] for step in mine] == [step[:3] for step in theirs]
    assert [taken for *_, taken, _ in mine].count([False] + [True] * (optimizers - 1)) == 3  # the other one steps on
    for (*_, a), (*_, b) in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, 1e-6)
    assert len({scale for scale, *_ in mine}) > 3


def test_a_scale_ends_where_float32_does():
    scaler = mg.amp.GradScaler(init_scale=2.0**127, growth_interval=1)
    w = mg.zeros(1, dtype=mg.float32, requires_grad=True)
    sgd = mg.optim.SGD([w], lr=1.0)
    scaler.scale(w.sum() * 0.25).backward()
    scaler.step(sgd)
    scaler.update()

    assert scaler.get_scale() == 2.0**127
    assert w.item() == -0.25


@quiet
def test_a_scale_that_always_overflows_stays_a_scale():
    """166 overflows in a row made it 0, by which the next gradients were divided: ZeroDivisionError."""
    scaler, w = mg.amp.GradScaler(), mg.ones(1, dtype=mg.float32, requires_grad=True)
    sgd = mg.optim.SGD([w], lr=1.0)
    for i in range(201):
        sgd.zero_grad()
        scaler.scale(w.sum() * (OVER if i < 200 else FINE)).backward()
        scaler.step(sgd)
        scaler.update()

    assert 2.0**-127 < scaler.get_scale() < 2.0**-124
    assert w.item() == 0.0


def test_an_interval_that_is_passed_already_is_over():
    """The tracker was 2, the interval became 1, and they never met again: the scale grew no more, as PyTorch's."""
    scaler, _, sgd = scaled(mg.amp.GradScaler(init_scale=8.0, growth_interval=5))
    for interval in (5, 5, 1):
        scaler.set_growth_interval(interval)
        scaler.step(sgd)
        scaler.update()

    assert scaler.get_scale() == 16.0


def scaled(scaler=None, dtype=mg.float32):
    scaler = mg.amp.GradScaler() if scaler is None else scaler
    w = mg.ones(2, dtype=dtype, requires_grad=True)
    sgd = mg.optim.SGD([w], lr=0.1)
    scaler.scale((w * w).sum()).backward()
    return scaler, w, sgd


def test_gradients_are_unscaled_once_to_be_clipped():
    scaler, w, sgd = scaled(mg.amp.GradScaler(init_scale=1024.0))
    assert w.grad.tolist() == [2048, 2048]
    scaler.unscale_(sgd)
    assert w.grad.tolist() == [2, 2]
    mg.nn.utils.clip_grad_value_([w], 1.0)
    scaler.step(sgd)
    np.testing.assert_allclose(w.tolist(), [0.9, 0.9], 1e-6)
    with pytest.raises(RuntimeError, match="step\\(\\) was already called on this optimizer"):
        scaler.step(sgd)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) came after step"):
        scaler.unscale_(sgd)
    scaler.update()
    with pytest.raises(RuntimeError, match=r"not called since the last update\(\)"):
        scaler.update()
    scaler, _, sgd = scaled()
    scaler.unscale_(sgd)
    with pytest.raises(RuntimeError, match="already called on this optimizer"):
        scaler.unscale_(sgd)


@quiet
def test_float16_gradients_are_refused_and_bfloat16s_are_not():
    scaler, w, sgd = scaled(mg.amp.GradScaler(init_scale=4.0), mg.float16)
    with pytest.raises(DTypeError, match=r"a gradient is f16\[2\].* keep the parameters in float32, as master weights"):
        scaler.step(sgd)
    scaler, w, sgd = scaled(dtype=mg.bfloat16)
    scaler.step(sgd)
    np.testing.assert_allclose(w.tolist(), [0.8, 0.8], 2**-8)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="grows by > 1"):
        mg.amp.GradScaler(growth_factor=1.0)
    for number in (0.0, -1.0, OVER, NO_NUMBER, 1e39):  # which it took, and scaled by, or left out without a word
        with pytest.raises(ValueError, match="must be a float32 number"):
            mg.amp.GradScaler(init_scale=number)
        with pytest.raises(ValueError, match="must be a float32 number"):
            mg.amp.GradScaler().update(number)
    for interval in (0, 2.5, NO_NUMBER, OVER):
        with pytest.raises(ValueError, match=f"growth_interval={interval}"):
            mg.amp.GradScaler(growth_interval=interval)
    with pytest.raises(ValueError, match="growth_factor=inf"):  # by which it never grew
        mg.amp.GradScaler(growth_factor=OVER)
    with pytest.raises(ValueError, match="backs off by < 1"):
        mg.amp.GradScaler().set_backoff_factor(2.0)
    scaler, w, sgd = scaled()
    with pytest.raises(RuntimeError, match="takes no closure"):
        scaler.step(sgd, w.sum)
    with pytest.raises(RuntimeError, match="no parameter of this optimizer has a gradient"):
        scaler.step(mg.optim.SGD([mg.ones(1, requires_grad=True)], lr=0.1))
    with pytest.raises(TypeError, match="takes a loss"):
        scaler.scale(3.0)

    @mg.function
    def step():
        scaler.step(sgd)

    with pytest.raises(GraphError, match=r"GradScaler.step\(\) depends on the values"):
        step()


def test_its_state_is_saved_and_pytorchs():
    torch = pytest.importorskip("torch")
    scaler, _, sgd = scaled(mg.amp.GradScaler(init_scale=256.0, growth_interval=7))
    scaler.step(sgd)
    scaler.update()
    other = mg.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())

    assert other.state_dict() == scaler.state_dict()
    assert scaler.state_dict()["_growth_tracker"] == 1
    theirs = torch.amp.GradScaler("cpu")
    theirs.load_state_dict(scaler.state_dict())
    assert theirs.state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="this state has nothing"):
        other.load_state_dict(mg.amp.GradScaler(enabled=False).state_dict())


def test_not_enabled_it_is_not_there():
    scaler, w, sgd = scaled(mg.amp.GradScaler(device="mps", enabled=False))
    scaler.unscale_(sgd)
    scaler.step(sgd)
    scaler.update()

    np.testing.assert_allclose(w.tolist(), [0.8, 0.8], 1e-6)
    assert (scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()) == (1.0, False, {})


def test_a_traced_loss_reads_the_scale_of_its_call():
    scaler = mg.amp.GradScaler(init_scale=8.0)
    w = mg.ones(2, dtype=mg.float32, requires_grad=True)

    @mg.function
    def backward():
        w.grad = None
        scaler.scale((w * w).sum()).backward()

    backward()
    assert w.grad.tolist() == [16, 16]
    scaler.update(new_scale=32.0)
    backward()
    assert w.grad.tolist() == [64, 64]
    assert backward.trace_count == 1


# -- what is lost without it ----------------------------------------------------------------------------


def test_gradients_vanish_in_float16_and_are_held_by_a_scale():
    """Log-uniform from 2⁻³⁸ to 2⁻¹⁰: below 2⁻²⁵ float16 rounds to 0, 13 of 28 powers of 2."""
    gradients = mg.tensor(2.0 ** np.random.default_rng(0).uniform(-38, -10, 20_000))

    def vanished(dtype, scale):
        return ((gradients * scale).to(dtype) == 0).double().mean().item()

    assert vanished(mg.float16, 1) == pytest.approx(13 / 28, abs=0.01)
    assert vanished(mg.float16, 2.0**10) == pytest.approx(3 / 28, abs=0.01)
    assert vanished(mg.float16, 2.0**16) == 0 == vanished(mg.bfloat16, 1)


def test_small_updates_need_master_weights():
    ends = {}
    for dtype in (mg.float16, mg.bfloat16, mg.float32):
        w = mg.ones(1, dtype=dtype, requires_grad=True)
        sgd = mg.optim.SGD([w], lr=1e-4)
        for _ in range(1000):
            w.grad = mg.ones(1, dtype=dtype)
            sgd.step()
        ends[dtype.name] = w.item()

    assert ends == {"float16": 1.0, "bfloat16": 1.0, "float32": pytest.approx(0.9, abs=1e-4)}


@quiet
def test_a_net_with_small_gradients_learns_by_the_scale():
    """Three layers under autocast; the loss is small by 2⁻²², the rate large by as much: in float32 no difference."""
    x = mg.tensor(np.random.default_rng(0).standard_normal((32, 4)).astype("f4"))
    y = mg.tensor(np.sin(x.numpy().sum(1, keepdims=True)))

    def learned(dtype, init_scale):
        mg.manual_seed(0)
        layers = (mg.nn.Linear(4, 16), mg.nn.Tanh(), mg.nn.Linear(16, 16), mg.nn.Tanh(), mg.nn.Linear(16, 1))
        net = mg.nn.Sequential(*layers).float()
        sgd = mg.optim.SGD(net.parameters(), lr=0.3 * 2.0**22)
        scaler = mg.amp.GradScaler(init_scale=init_scale)
        losses = []
        for _ in range(60):
            sgd.zero_grad()
            with mg.autocast(dtype=mg.bfloat16 if dtype is None else dtype, enabled=dtype is not None):
                loss = F.mse_loss(net(x), y)
            scaler.scale(loss * 2.0**-22).backward()
            scaler.step(sgd)
            scaler.update()
            losses.append(loss.item())
        return losses[-1] / losses[0], scaler.get_scale()

    single, _ = learned(None, 1.0)
    assert single < 0.4
    assert learned(mg.float16, 1.0)[0] > 0.9
    assert learned(mg.float16, 2.0**16)[0] == pytest.approx(single, rel=0.1)
    assert learned(mg.bfloat16, 1.0)[0] == pytest.approx(single, rel=0.2)
    found, scale = learned(mg.float16, 2.0**40)
    assert found < 0.5
    assert scale < 2.0**40  # backed off until nothing overflowed


@pytest.mark.parametrize(
    "change", [{"scale": -1.0}, {"growth_factor": 0.5}, {"_growth_tracker": -3}, {"_growth_tracker": "x"}]
)
def test_a_spoilt_state_is_refused_and_nothing_of_it_is_loaded(change):
    """The rule and the count were loaded before the scale was refused."""
    scaler = mg.amp.GradScaler()
    state = scaler.state_dict()

    with pytest.raises((ValueError, TypeError)):
        scaler.load_state_dict({**state, "_growth_tracker": 7, "growth_interval": 5} | change)
    assert scaler.state_dict() == state
