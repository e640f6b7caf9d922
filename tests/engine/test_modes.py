"""What is recorded: by a block, a decorated function or a statement; nested, per thread and task, and restored."""

import asyncio
import threading
from functools import partial

import pytest

import minigrad as mg
from minigrad.engine.base import errors
from minigrad.engine.core import modes
from tests.support.in_a_thread import completed, in_a_thread


def told(mode, setting, f=None):
    """A mode that takes a setting, as one that takes none."""
    return mode(setting) if f is None else mode(setting)(f)


MODES = {
    "no_grad": (mg.no_grad, False), "enable_grad": (mg.enable_grad, True), "inference_mode": (mg.inference_mode, False),
    "inference_mode(False)": (partial(told, mg.inference_mode, False), True),
    "set_grad_enabled(False)": (partial(told, mg.set_grad_enabled, False), False),
    "set_grad_enabled(True)": (partial(told, mg.set_grad_enabled, True), True),
}  # fmt: skip
each_mode = pytest.mark.parametrize(("mode", "recording"), MODES.values(), ids=MODES)
each_outside = pytest.mark.parametrize("outside", [True, False], ids=["recorded outside", "unrecorded outside"])


def recorded():
    """Whether an op that runs now is recorded, by its result and by what the engine says: they agree."""
    found = (mg.tensor([1.0], requires_grad=True) * 2).requires_grad
    assert found == mg.is_grad_enabled()
    return found


# -- forms -----------------------------------------------------------------------------------------


@each_outside
@each_mode
def test_as_a_block(mode, recording, outside):
    with modes.in_mode(recording=outside):
        with mode():
            assert recorded() == recording
        assert recorded() == outside


@each_outside
@each_mode
def test_as_a_decorator_with_parentheses(mode, recording, outside):
    @mode()
    def f(x, y=0):
        """f's own."""
        return recorded(), x + y

    with modes.in_mode(recording=outside):
        assert f(1, y=2) == (recording, 3)
        assert recorded() == outside
    assert f.__name__ == "f"
    assert f.__doc__ == "f's own."


@each_mode
def test_as_a_decorator_without_parentheses(mode, recording):
    @mode
    def f(x):
        return recorded(), x

    assert f(3) == (recording, 3)
    assert f(4) == (recording, 4)
    assert recorded()


def test_as_a_statement():
    mg.set_grad_enabled(False)
    assert not recorded()
    mg.set_grad_enabled(True)
    assert recorded()


def test_a_statement_inside_a_block_ends_with_it():
    with mg.no_grad():
        mg.set_grad_enabled(True)
        assert recorded()
    assert recorded()
    with mg.enable_grad():
        mg.set_grad_enabled(False)
    assert recorded()


def test_a_statement_inside_a_block_about_something_else_holds_on_after_it():
    """The end of any block brought back the whole mode, and with it what the statement had changed."""
    with mg.autograd.detect_anomaly():
        mg.set_grad_enabled(False)
    try:
        assert not recorded()
    finally:
        mg.set_grad_enabled(True)


def test_one_object_may_open_many_blocks_also_inside_each_other():
    silent = mg.no_grad()
    for _ in range(2):
        with silent:
            with silent:
                assert not recorded()
            assert not recorded()
        assert recorded()


@each_mode
def test_a_decorated_generator_runs_each_of_its_steps_in_the_mode_and_its_user_in_their_own(mode, recording):
    """Only the making of the generator was inside; its steps ran in whatever mode they were asked in."""

    @mode()
    def steps():
        heard = yield recorded()
        yield recorded(), heard
        return "end"

    generator = steps()
    assert next(generator) == recording
    assert recorded()
    with modes.in_mode(recording=not recording):
        assert generator.send("hello") == (recording, "hello")
        assert recorded() == (not recording)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


# -- nesting, exceptions, threads ------------------------------------------------------------------


def test_modes_nest_and_come_back_one_by_one():
    with mg.no_grad():
        with mg.enable_grad():
            with mg.set_grad_enabled(False):
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


@each_mode
def test_an_exception_brings_the_old_mode_back(mode, recording):
    @mode()
    def broken():
        raise KeyError("mine")

    with pytest.raises(KeyError), mode():
        raise KeyError("mine")
    with pytest.raises(KeyError):
        broken()

    assert recorded()
    assert not mg.is_inference_mode_enabled()


def test_an_exception_inside_backward_brings_the_old_mode_back():
    class Broken(mg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gy):
            raise KeyError("mine")

    y = Broken.apply(mg.tensor([1.0], requires_grad=True)).sum()
    with mg.enable_grad(), pytest.raises(KeyError):
        y.backward()

    assert recorded()


def test_a_thread_begins_recording_whatever_its_parent_does_and_keeps_its_mode_to_itself():
    heard = {}

    def other():
        heard["at first"] = recorded()
        mg.set_grad_enabled(False)
        heard["then"] = recorded()
        turn.set()
        parent_has_looked.wait(60)

    turn, parent_has_looked = threading.Event(), threading.Event()
    with mg.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        turn.wait(60)
        with mg.enable_grad():
            heard["parent"] = recorded()
        parent_has_looked.set()
        thread.join()

    assert heard == {"at first": True, "then": False, "parent": True}


def test_tasks_that_take_turns_keep_their_modes_to_themselves():
    """The second was without gradients since the first was, and when both were over nothing was recorded for good."""

    async def inside(mode):
        with mode():
            await asyncio.sleep(0)
            heard = recorded()
            await asyncio.sleep(0)
        return heard

    @mg.no_grad
    async def decorated():
        return await inside(mg.enable_grad), recorded()

    async def together():
        return await asyncio.gather(inside(mg.no_grad), inside(mg.enable_grad), decorated(), inside(mg.no_grad))

    assert completed(together()) == [False, True, (True, False), False]
    assert recorded()


def test_watchers_see_only_their_thread():
    seen = []

    class Watcher:
        def on_forward(self, op, y, xs):
            seen.append(op)

        def on_backward(self, node, gy, gxs): ...

    with modes.watching(Watcher()):
        in_a_thread(lambda: mg.tensor([1.0]) * 2)

    assert seen == []


# -- what the modes mean ---------------------------------------------------------------------------


def test_what_is_not_recorded_is_a_leaf_and_keeps_nothing():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.no_grad():
        y = x * x

    assert y.is_leaf
    assert y.grad_fn is None
    assert not y.requires_grad
    y.requires_grad_()
    (y * 3).sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [3, 3]


def test_a_leaf_made_without_recording_may_still_require_a_gradient():
    for mode in (mg.no_grad, mg.inference_mode):
        with mode():
            x = mg.tensor([1.0], requires_grad=True)
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3]


def test_what_inference_mode_made_takes_part_in_no_recorded_op():
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.inference_mode():
        assert mg.is_inference_mode_enabled()
        x = mg.tensor([3.0, 4.0])
        y = x * w
    assert not mg.is_inference_mode_enabled()

    for made in (x, y):
        with pytest.raises(errors.NoGradientError, match="inference_mode"):
            made * w
        assert (made * 2).tolist() == [2 * n for n in made.tolist()]
        assert (made.clone() * w).requires_grad


def test_inference_mode_inside_itself_switched_off_records():
    with mg.inference_mode():
        with mg.inference_mode(False):
            assert recorded()
            assert not mg.is_inference_mode_enabled()
        assert mg.is_inference_mode_enabled()


def test_backward_runs_where_nothing_is_recorded():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    with mg.no_grad():
        y.backward()

    assert x.grad.tolist() == [2, 4]
    assert not x.grad.requires_grad


def test_what_backward_runs_is_recorded_exactly_for_create_graph():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.no_grad():
        (recorded_gradient,) = mg.grad(cubed(x), x, create_graph=True)
    (plain_gradient,) = mg.grad(cubed(x), x)

    assert recorded_gradient.requires_grad
    assert not plain_gradient.requires_grad


@mg.enable_grad
def cubed(x):
    return (x**3).sum()
