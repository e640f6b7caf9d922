"""Programs that were wrong, hung or crashed once a graph was built of them, and are right by run: each is a story."""

import signal

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.core import modes
from minigrad.graph.compiler.program import buffer
from tests.support.other_processes import output_of

F = mg.nn.functional
RNG = np.random.default_rng(14)
WAYS = {"by run": lambda f: f, "traced": mg.function, "compiled": mg.function(jit_compile=True)}


def leaf(*shape):
    return mg.tensor(RNG.normal(size=shape), requires_grad=True)


def test_pooling_a_sum_of_two_images_has_a_derivative():
    """The place of a maximum of x + b is that of x, if b is one number in each window. For any other b the rule gave
    the place back as it was, as if it had found something, and was asked again: a RecursionError.
    """
    a, b = leaf(1, 1, 4, 4), leaf(1, 1, 4, 4)

    def slope(a, b):
        return mg.autograd.grad(F.max_pool2d(a + b, 2).sum(), [a])[0]

    np.testing.assert_array_equal(WAYS["compiled"](slope)(a, b), slope(a, b))


@pytest.mark.parametrize("way", WAYS)
def test_what_numpy_gives_of_no_axes_is_no_view(way):
    """np.flip of an array of no axes is a number, a copy. A program made it once, as a view of memory that was not yet
    written, and read it in each run: 1e15 for 0.67, another number in each process.
    """

    def slope(x):
        y = x.median().flip(0)
        return y, mg.autograd.grad((y * 0.7).sin(), [x], create_graph=True)[0]

    x = mg.tensor(np.array([0.4], "f4"), requires_grad=True)
    y, gx = WAYS[way](slope)(x)

    np.testing.assert_allclose(gx.numpy(), 0.7 * np.cos(0.7 * y.numpy()), rtol=1e-6)


def test_what_backward_reads_is_chosen_in_the_end():
    """To keep v² · (x − v) a derivative of it was needed, which read (x − v) and v²; of these it could be made again,
    so it was kept no more; then nobody asked for its parts, and it was kept: for ever, in a process of its own here.
    """
    program = """
import minigrad as mg
x, y = (mg.tensor(v, requires_grad=True) for v in ([1., 2., 3.], [2., 3., .5]))
def f(x, y):
    v = y * y.min()
    z = (x - v) * (v * v)
    return mg.cond(x.sum() > 0, lambda: (x, v), lambda: (v, z))
for way in (lambda f: f, mg.function):
    a, b = way(f)(x, y)
    print(mg.autograd.grad((a * b).sum(), [x, y]))
"""
    by_run, traced = output_of(program, timeout=60).splitlines()
    assert by_run == traced


def test_a_number_in_a_custom_derivative_is_part_of_a_sessions_graph():
    """The gradient of a Function is its own graph, copied into the one that is built; a constant in it was copied past
    the graph's list of nodes, and the run that needed it ended in a KeyError.
    """

    class Cube(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, gy):
            (x,) = ctx.saved_tensors
            return gy * 3 * x * x

    with mg.Graph().as_default() as graph:
        p = mg.placeholder("float64", ())
        slope = mg.gradients(Cube.apply(p), [p])

    assert mg.Session(graph).run(slope, {p: 2.0}) == [12.0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("hears", [buffer.HEARS_COPY, False])
def test_a_large_loop_is_cut_into_blocks_by_numpy_2_0_too(monkeypatch, hears):
    """`reshape(copy=False)` came with NumPy 2.1, and we allow 2.0: every array large enough for blocks was a TypeError.

    Without it a shape is set, which later versions no longer like: there it is only looked at that both give the same.
    """
    monkeypatch.setattr(buffer, "HEARS_COPY", hears)
    x, v = RNG.normal(size=(400, 400)), RNG.normal(size=400)

    def f(x, v):
        return (x * v.exp()).tanh().T.reshape(-1) * 2

    np.testing.assert_array_equal(mg.function(f)(mg.tensor(x), mg.tensor(v)), f(mg.tensor(x), mg.tensor(v)))


def test_a_loop_over_a_large_array_has_a_derivative():
    """How many turns a loop takes is a stand-in while its program is made, and 2⁴⁵ rows of 257 · 257 numbers are more
    bytes than NumPy counts: a ValueError, "array is too big", for an array that was not to be.
    """

    def f(x):
        i = mg.tensor(0)
        while i < 2:
            x = x.sin()
            i = i + 1
        return x

    x = leaf(257, 257)
    (slope,) = mg.autograd.grad(mg.function(f)(x).sum(), x)

    np.testing.assert_allclose(slope, np.cos(np.sin(x.numpy())) * np.cos(x.numpy()), rtol=1e-14)


def test_one_result_of_several_has_a_derivative_through_a_loop():
    """Backward from one result counts the turns of a loop by another of its stacks than backward from both, and that
    one was not kept: a NoGradientError where by run there was a gradient.
    """

    def f(x, y):
        v = mg.where(y > y, y, y * -1.5)
        z = y * x.sum(0).tanh()
        i = mg.tensor(0)
        while i < 1:
            j = mg.tensor(0)
            while j < 0:
                y[1:] = 2
                j = j + 1
            z = x + v
            i = i + 1
        with mg.no_grad():
            y.zero_()
        return x, z

    x, y = leaf(3, 3), leaf(3, 3)
    given = x * 1, y * 1
    loss = (mg.function(f)(*given)[1] ** 2).sum()
    slopes = mg.autograd.grad(loss, [x, y])

    wanted = 2 * (x.numpy() - 1.5 * y.numpy())
    np.testing.assert_allclose(slopes[0], wanted, rtol=1e-14)
    np.testing.assert_allclose(slopes[1], -1.5 * wanted, rtol=1e-14)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no timer that interrupts")
def test_an_interrupt_leaves_the_mode_as_it_was():
    """Ctrl-C in a cell that trains: one in a hundred met the moment in which no_grad() begins or ends, and nothing was
    recorded from then on. Most of this loop is such moments; one interrupt in ten was one too many.
    """
    before, mode = signal.signal(signal.SIGVTALRM, signal.default_int_handler), modes.current.mode
    try:
        for i in range(200):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012  (interrupted while it lasts)
                signal.setitimer(signal.ITIMER_VIRTUAL, 1e-4 + i * 1e-6)
                while True:
                    with mg.no_grad():
                        pass
            assert modes.current.mode == mode, f"after {i} interrupts"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        modes.current.mode = mode
