"""mg.profiler.profile: what ran, how often, how long, where; and the file that a trace viewer opens."""

import json
import re
import threading
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim, profiler
from minigrad.engine.base.errors import AnomalyError, StateError
from minigrad.engine.base.table import Table
from minigrad.engine.core.modes import Mode, current
from minigrad.graph.backends.simulated_gpu import counting
from minigrad.graph.compiler.blame import trap_nan
from minigrad.profiler import ProfilerActivity, profile, record_function, schedule
from minigrad.profiler.log import time_steps
from tests.support.table import table


def mlp(kit=nn):
    return kit.Sequential(kit.Linear(4, 8), kit.Tanh(), kit.Linear(8, 1))


def batch():
    return mg.tensor(np.linspace(-1, 1, 64).reshape(16, 4), dtype=np.float32)


def second_call(f, *args, **options):
    """A profile of the second call of a compiled function: the first compiles it."""
    f(*args)
    with profile(**options) as prof:
        f(*args)
    return prof


def counts(prof, *kinds):
    return Counter(event.name for event in prof.events() if event.kind in kinds)


def one(prof, name):
    return next(row for row in prof.key_averages() if row.key == name)


class Clock:
    """A clock that goes when it is told to."""

    now = 1

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in ("log", "profiling"):
        monkeypatch.setattr(f"minigrad.profiler.{module}.clock", clock)
    return clock


# -- schedules --------------------------------------------------------------------------------------------

SCHEDULES = [
    {"wait": 1, "warmup": 1, "active": 3, "repeat": 2},
    {"wait": 0, "warmup": 1, "active": 1},
    {"wait": 2, "warmup": 1, "active": 2, "skip_first": 3},
    {"wait": 1, "warmup": 2, "active": 1, "repeat": 1, "skip_first": 1},
]


@pytest.mark.parametrize("numbers", SCHEDULES, ids=str)
def test_a_schedule_says_what_pytorchs_says(numbers):
    theirs = pytest.importorskip("torch.profiler").schedule(**numbers)

    ours = schedule(**numbers)

    assert [ours(i).name for i in range(40)] == [theirs(i).name for i in range(40)]


@table("name, n", [("wait", -1), ("warmup", 1.5), ("active", 0), ("repeat", -2), ("skip_first", -1)])
def test_a_schedule_refuses_a_number_by_name(name, n):
    with pytest.raises(ValueError, match=f"{name} to be a whole number of at least"):
        schedule(**{"wait": 0, "warmup": 0, "active": 1} | {name: n})


def test_on_trace_ready_comes_with_the_steps_of_each_cycle():
    """PyTorch's own example: wait 1, warm up 1, record 3, twice."""
    told = []

    def ready(prof):
        told.append([event.name for event in prof.events() if event.name.startswith("ProfilerStep")])

    with profile(schedule=schedule(**SCHEDULES[0]), on_trace_ready=ready) as prof:
        for _ in range(14):
            mg.ones(2) * 2
            prof.step()

    assert told == [[f"ProfilerStep#{i}" for i in cycle] for cycle in ((2, 3, 4), (7, 8, 9))]


def test_warming_up_is_not_told():
    with profile(schedule=schedule(wait=1, warmup=1, active=2)) as prof:
        for i in range(4):
            mg.ones(2) * i
            prof.step()

    assert counts(prof, "op") == {"mul": 2}


# -- what ran, how often ------------------------------------------------------------------------------------


def behind(grad_fn):
    """The derivatives of PyTorch's that a gradient passes, as often as there are."""
    found, todo = {}, [grad_fn]
    while todo:
        each = todo.pop()
        if each is not None and each not in found:
            found[each] = each.name()
            todo += [after for after, _ in each.next_functions]
    return Counter(found.values())


@contextmanager
def dispatched():
    """How often each op of PyTorch's runs in the block."""
    called = Counter()

    class Counting(pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            called[f.overloadpacket.__name__] += 1
            return f(*args, **(kwargs or {}))

    with Counting():
        yield called


def test_ops_and_derivatives_are_counted_as_pytorch_counts_them():
    """By its dispatcher and its graph: its own profiler, opened twice in a process, ends it now and then."""
    torch = pytest.importorskip("torch")
    theirs, model, x = mlp(torch.nn), mlp(), batch()
    with dispatched() as called:
        y = torch.tanh(theirs(torch.tensor(x.numpy()))).sum()
    pulled = behind(y.grad_fn)

    with profile() as prof:
        mg.tanh(model(x)).sum().backward()

    assert counts(prof, "op") == {"affine": called["addmm"], "tanh": called["tanh"], "sum": called["sum"]}
    assert counts(prof, "backward") == {
        "AffineBackward": pulled["AddmmBackward0"],
        "TanhBackward": pulled["TanhBackward0"],
        "SumBackward": pulled["SumBackward0"],
    }


def test_what_a_checkpoint_computes_again_is_counted_as_pytorch_counts_it():
    """It was told to nobody: eight layers ran once, and the time and FLOPs of three parts were their derivatives'."""
    torch = pytest.importorskip("torch")
    again = pytest.importorskip("torch.utils.checkpoint").checkpoint_sequential

    def net(kit):
        return kit.Sequential(*[kit.Sequential(kit.Linear(4, 4), kit.Tanh()) for _ in range(8)])

    with dispatched() as called:
        again(net(torch.nn), 4, torch.tensor(batch().numpy()), use_reentrant=False).sum().backward()
    with profile(with_flops=True, with_modules=True) as prof:
        mg.utils.checkpoint.checkpoint_sequential(net(nn), 4, batch()).sum().backward()
    second = [event for event in prof.events() if event.kind == "op" and event.is_backward]
    around = {tuple(each.name for each in event.around) for event in second}

    assert counts(prof, "op") == {"affine": called["addmm"], "tanh": called["tanh"], "sum": 1}
    assert around == {(f"nn.Module: Sequential.{i}", "nn.Module: Sequential", "TanhBackward") for i in (0, 1)}
    assert one(prof, "affine").flops == 14 * (2 * 16 * 4 * 4 + 16 * 4)
    assert one(prof, "TanhBackward").flops is not None


def test_a_product_has_the_operations_that_pytorch_counts():
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch.utils.flop_counter")
    x, y = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    with counter.FlopCounterMode(display=False) as theirs:
        torch.tensor(x) @ torch.tensor(y)

    with profile(record_shapes=True, with_flops=True) as prof:
        mg.tensor(x) @ mg.tensor(y)
    (ours,) = prof.key_averages(group_by_input_shape=True)

    assert (ours.key, ours.input_shapes) == ("matmul", [[3, 4], [4, 5]])
    assert ours.flops == theirs.get_total_flops() == 2 * 3 * 4 * 5


def test_the_derivative_of_a_product_is_two_products():
    x, y = (mg.tensor(np.ones(shape), requires_grad=True) for shape in [(3, 4), (4, 5)])
    with profile(with_flops=True) as prof:
        (x @ y).sum().backward()

    assert one(prof, "MatMulBackward").flops == 2 * one(prof, "matmul").flops


def test_a_derivative_that_is_recorded_has_its_operations_once():
    """Run on tensors, its products were told of as ops, and counted once more as the derivative's."""
    x, y = (mg.tensor(np.ones(shape), requires_grad=True) for shape in [(3, 4), (4, 5)])
    z = (x @ y).sum()
    with profile(with_flops=True) as prof:
        mg.autograd.grad(z, [x, y], create_graph=True)

    assert prof.key_averages().self_cpu_time_total > 0
    assert one(prof, "matmul").flops == 2 * 2 * 3 * 4 * 5
    assert one(prof, "MatMulBackward").flops == 0


def test_what_nobody_says_the_operations_of_has_none_and_the_total_says_so():
    class Twice(mg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with profile(with_flops=True) as prof:
        Twice.apply(mg.ones(3))
        mg.ones(3) * 2

    assert one(prof, "Twice").flops is None
    assert "unknown" in str(prof)
    assert one(prof, "mul").flops == 3


# -- how long, by a clock that the test turns -----------------------------------------------------------------


def slow(clock, nanoseconds):
    class Slow(mg.Function):
        @staticmethod
        def forward(ctx, x):
            clock.now += nanoseconds
            return x * 2

        @staticmethod
        def backward(ctx, gy):
            clock.now += 2 * nanoseconds
            return gy * 2

    return Slow.apply


def test_python_between_two_ops_is_in_neither(clock):
    f, x = slow(clock, 1000), mg.tensor([1.0], requires_grad=True)

    with profile() as prof:
        clock.now += 70_000
        y = f(x)
        clock.now += 50_000
        z = y * 3
        clock.now += 40_000
        z.backward()
        clock.now += 10_000

    assert one(prof, "Slow").cpu_time_total == 1  # microseconds
    assert one(prof, "mul").cpu_time_total == 0
    assert one(prof, "MulBackward").cpu_time_total == 0
    assert one(prof, "SlowBackward").cpu_time_total == 2
    assert "Python outside of what is listed: 170.000us" in str(prof)


def test_a_block_has_what_python_does_in_it_for_itself(clock):
    f, x = slow(clock, 1000), mg.ones(1)

    with profile() as prof, record_function("outer"):
        clock.now += 5000
        with record_function("inner"):
            f(x)
        clock.now += 2000

    rows = {row.key: (row.cpu_time_total, row.self_cpu_time_total) for row in prof.key_averages()}
    assert rows == {"outer": (8, 7), "inner": (1, 0), "Slow": (1, 1)}


def test_a_pass_within_a_pass_leaves_the_outer_derivative_whole(clock):
    f, x = slow(clock, 1000), mg.tensor([1.0], requires_grad=True)

    @mg.enable_grad
    def inner(gy):
        f(mg.tensor([1.0], requires_grad=True)).backward()

    with profile() as prof:
        y = x * 2
        z = f(y)
        y.register_hook(inner)
        z.backward()
    rows = [(event.name, event.cpu_time_total) for event in prof.events() if event.kind == "backward"]

    assert rows == [("SlowBackward", 2), ("MulBackward", 3), ("SlowBackward", 2)]


def test_what_is_called_in_itself_counts_its_time_once(clock):
    with profile() as prof, record_function("again"):
        clock.now += 1000
        with record_function("again"):
            clock.now += 1000

    (row,) = prof.key_averages()
    assert (row.count, row.cpu_time_total, row.self_cpu_time_total) == (2, 2, 2)


# -- where: modules, lines, blocks -------------------------------------------------------------------------------


def test_ops_and_their_derivatives_are_in_the_module_that_called_them():
    model = mlp()
    with profile(with_modules=True) as prof:
        model(batch()).sum().backward()
    found = {(row.key, row.module) for row in prof.key_averages(group_by_module=True)}

    assert {
        ("affine", "Sequential.0"), ("tanh", "Sequential.1"), ("affine", "Sequential.2"),
        ("AffineBackward", "Sequential.0"), ("AffineBackward", "Sequential.2"), ("TanhBackward", "Sequential.1"),
        ("SumBackward", ""), ("nn.Module: Sequential.1", "Sequential.1"),
    } <= found  # fmt: skip


def test_ops_are_at_the_line_of_the_user_that_asked_for_them():
    x = mg.tensor([1.0], requires_grad=True)
    with profile(with_stack=True) as prof:
        first = x * 2
        for _ in range(3):
            first = first * 2
        first.backward()
    rows = prof.key_averages(group_by_stack_n=1)

    assert [(row.key, row.count) for row in rows] == [("mul", 1), ("mul", 3), ("MulBackward", 3), ("MulBackward", 1)]
    assert all("test_profiler.py" in row.stack[0] for row in rows)
    assert rows[0].stack == rows[3].stack != rows[1].stack


def test_the_library_that_hands_a_call_on_is_no_line_of_the_user():
    """Under vmap each op was at functools.py, which chooses its rule; a decorated function was at contextlib.py."""
    f = record_function("named")(mg.func.vmap(lambda x: mg.tanh(x * 2)))
    with profile(with_stack=True) as prof, profiler.memory() as ledger:
        f(mg.ones(3))
    places = {place.partition(":")[0] for event in prof.events() for place in event.stack[:2]}

    assert not {place for place in places if "functools" in place or "contextlib" in place}
    assert "test_profiler.py" in ledger.table().note


def test_loaders_and_optimisers_are_blocks():
    model, x = mlp(), batch()
    optimiser = optim.SGD(model.parameters(), lr=0.1)
    with profile() as prof:
        for (rows,) in mg.data.DataLoader(mg.data.TensorDataset(x), batch_size=8):
            model(rows).sum().backward()
            optimiser.step()

    assert counts(prof, "block") == {
        "enumerate(DataLoader).__next__": 3,
        "Optimizer.step#SGD.step": 2,
    }  # 3: and the end


def test_a_function_may_be_a_block_and_a_profiled_one():
    prof = profile()

    @record_function("doubled")
    def double(x):
        return x * 2

    @prof
    def run():
        return double(double(mg.ones(2)))

    run()

    assert counts(prof, "op", "block") == {"doubled": 2, "mul": 2}


def test_each_call_of_a_decorated_function_is_a_block_of_its_thread():
    """The first of two threads to leave it closed the block of the one that had entered it last."""
    has_entered, has_left = threading.Event(), threading.Event()

    @record_function("work")
    def work(inside):
        inside()

    def here():
        other.start()
        has_entered.wait(60)

    def there():
        has_entered.set()
        has_left.wait(60)
        mg.ones(2) * 2

    def take_part():
        with prof.thread():
            work(there)

    other = threading.Thread(target=take_part)
    with profile() as prof:
        work(here)
        has_left.set()
        other.join()

    (double,) = (event for event in prof.events() if event.name == "mul")
    assert double.cpu_parent.name == "work"


# -- bytes -------------------------------------------------------------------------------------------------------


def test_a_result_counts_from_when_it_comes_to_when_it_goes():
    x = mg.ones(1000, dtype=np.float64)
    with profile(profile_memory=True) as prof:
        y = x * 2
        with record_function("lets go"):
            del y
        z = x.reshape(10, 100)  # a view: no bytes of its own
    assert z.shape == (10, 100)

    assert one(prof, "mul").cpu_memory_usage == 8000
    assert one(prof, "lets go").cpu_memory_usage == -8000
    assert one(prof, "reshape").cpu_memory_usage == 0


def test_bytes_that_come_and_go_are_events_of_no_length():
    x = mg.ones(1000, dtype=np.float64)
    with profile(profile_memory=True) as prof:
        y = x * 2
        del y
    changes = [
        (e.cpu_memory_usage, e.ns, e.cpu_parent and e.cpu_parent.name) for e in prof.events() if e.kind == "memory"
    ]

    assert changes == [(8000, 0, "mul"), (-8000, 0, None)]
    assert {row.key: row.self_cpu_memory_usage for row in prof.key_averages()} == {"mul": 8000, "[memory]": -8000}


def test_what_an_optimiser_remembers_comes_with_its_first_step():
    model = nn.Linear(10, 10, bias=False)
    optimiser = optim.Adam(model.parameters(), lr=0.1)
    model(mg.ones(2, 10)).sum().backward()

    def booked():
        with profile(profile_memory=True) as prof:
            optimiser.step()
        return one(prof, "Optimizer.step#Adam.step").self_cpu_memory_usage

    assert [booked(), booked()] == [2 * 800, 0]


def test_of_edits_in_place_nothing_stays():
    """Ten were ten times their memory: the result that is written back goes when nothing runs, and was in no row."""
    x = mg.ones(1000, dtype=np.float64)
    with profile(profile_memory=True) as prof:
        for _ in range(10):
            x.mul_(2)

    assert one(prof, "mul").cpu_memory_usage == 80_000
    assert sum(row.self_cpu_memory_usage for row in prof.key_averages()) == 0
    assert re.search(r"\[memory\] .* -78.12 KB", str(prof))


def test_gradients_are_counted_where_they_are_made():
    x, w = mg.tensor(np.ones((10, 10)), requires_grad=True), mg.ones(10, 10)
    with profile(profile_memory=True) as prof:
        (x @ w).sum().backward()

    assert one(prof, "MatMulBackward").cpu_memory_usage == 800
    assert sum(row.self_cpu_memory_usage for row in prof.key_averages()) >= x.grad.value.nbytes


def test_what_has_no_memory_of_its_own_is_not_counted():
    """A derivative on tracers, as vmap runs it, or one that is a number, had no weak reference."""
    with profile(profile_memory=True) as prof:
        mg.func.jacrev(lambda x: mg.tanh(x) * x)(mg.ones(3))
        (mg.tensor(2.0, requires_grad=True) * 3).backward()

    assert counts(prof, "backward")["MulBackward"] == 2


# -- compiled: each step of the program that really runs -----------------------------------------------------------


def test_each_step_of_a_traced_function_is_told_under_its_module_and_line():
    model, x = mlp(), batch()
    prof = second_call(mg.function(lambda x: (model(x) * 2).sum()), x)
    steps = [event for event in prof.events() if event.kind == "step"]

    assert Counter(event.name for event in steps) == {"affine": 2, "add": 2, "tanh": 1, "mul": 1, "sum": 1}
    assert {(event.name, event.module) for event in steps if event.module} == {
        ("affine", "Sequential.0"), ("add", "Sequential.0"), ("tanh", "Sequential.1"), ("affine", "Sequential.2"),
        ("add", "Sequential.2"),
    }  # fmt: skip
    assert all("test_profiler.py" in event.stack[0] for event in steps)
    assert {event.cpu_parent.name for event in steps} == {"program"}
    assert {event.cpu_parent.cpu_parent.name for event in steps} == {"<lambda>"}


def test_a_program_is_marked_once(monkeypatch):
    """Each block marked it anew, for half to nine tenths of what it showed."""
    f = mg.function(mg.tanh)
    f(batch())
    with profile():
        f(batch())
    with monkeypatch.context() as without, profile() as prof:
        without.setattr("ast.parse", None)
        f(batch())

    assert counts(prof, "step") == {"tanh": 1}


def test_an_op_of_many_lines_is_one_step_of_a_program():
    """A cross entropy was two calls and its derivative four, for a `with errstate` and a `del` between their lines."""
    model, target = nn.Linear(4, 3).float(), mg.tensor([0, 2] * 8)

    def loss(x):
        y = nn.functional.cross_entropy(model(x), target)
        return y, mg.autograd.grad(y, [model.weight])[0]

    steps = counts(second_call(mg.function(loss), batch()), "step")

    assert {steps[name] for name in ("affine", "cross_entropy", "softmax_minus_onehot", "matmul")} == {1}


def test_the_marking_of_a_program_is_in_no_figure(clock, monkeypatch):
    """The first profiled run of a program had it for nine tenths of its time."""

    def slowly(program, tell):
        clock.now += 5000
        return time_steps(program, tell)

    monkeypatch.setattr("minigrad.profiler.log.time_steps", slowly)
    f = mg.function(lambda x: x * 2)
    f(mg.ones(3))
    with profile() as prof:
        f(mg.ones(3))
        clock.now += 1000

    (marking,) = (event for event in prof.events() if event.kind == "profiler")
    assert marking.ns == 5000
    assert "marks a program" not in str(prof)
    assert {row.cpu_time_total for row in prof.key_averages()} == {0}
    assert "Python outside of what is listed: 1.000us" in str(prof)


def test_a_call_with_two_results_is_one_call():
    f = mg.function(lambda x: (x * 2, x + 1))
    x = mg.tensor([1.0], requires_grad=True)
    with profile() as prof:
        y, z = f(x)
        (y + z).backward()

    assert counts(prof, "op", "backward") == {"<lambda>": 1, "add": 1, "AddBackward": 1, "<lambda>Backward": 1}


def test_the_derivative_of_a_compiled_call_has_its_steps_too():
    model, x = mlp(), batch()
    f = mg.function(lambda x: model(x).sum())
    with profile() as prof:
        f(x).backward()
    behind = [event for event in prof.events() if event.is_backward and event.kind == "step"]

    assert {event.name for event in behind} >= {"matmul", "mul", "sub"}
    assert {event.cpu_parent.cpu_parent.name for event in behind} == {"<lambda>Backward"}


def test_the_derivative_of_a_compiled_call_is_in_the_module_of_the_call():
    class Compiled(nn.Module):
        def forward(self, x):
            return double(x)

    double = mg.function(lambda x: x * 2)
    with profile(with_modules=True) as prof:
        Compiled()(mg.tensor([1.0], requires_grad=True)).backward()

    assert {event.module for event in prof.events() if event.is_backward} == {"Compiled"}


def tanh_five_times(x):
    return mg.lax.fori_loop(0, 5, lambda i, x: mg.tanh(x) * 2, x)


def test_the_steps_of_a_loop_are_told_each_time_and_the_loop_around_them():
    prof = second_call(mg.jit(tanh_five_times), mg.ones(3))

    assert counts(prof, "step")["tanh"] == 5
    assert {event.cpu_parent.kind for event in prof.events() if event.name == "tanh"} == {"step"}


def training(backend):
    """A few steps of a net, and all numbers that come of them."""
    mg.random.manual_seed(0)
    model, x = mlp(), batch()
    optimiser = optim.Adam(model.parameters(), lr=0.1)

    def step(x):
        optimiser.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimiser.step()
        return loss

    run = step if backend is None else mg.function(step, jit_compile=backend)
    return [*(run(x).numpy().copy() for _ in range(4)), *(p.numpy().copy() for p in model.parameters())]


@pytest.mark.parametrize("backend", [None, False, True, "native"], ids=str)
def test_nothing_changes_under_a_profiler_to_the_last_bit(backend):
    plain = training(backend)

    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, with_modules=True) as prof:
        profiled = training(backend)

    for x, y in zip(plain, profiled, strict=True):
        np.testing.assert_array_equal(x, y)
    assert prof.events()


def test_casts_of_autocast_are_ops_of_their_own(clock):
    """The mode has a door for those who take an op first, and the clock is looked at there."""
    x, y = (mg.tensor(np.ones(shape, np.float32)) for shape in [(3, 4), (4, 5)])
    with profile() as prof, mg.autocast(dtype=mg.bfloat16):
        clock.now += 1000
        z = x @ y
        clock.now += 1000

    assert z.dtype == mg.bfloat16
    assert counts(prof, "op") == {"cast": 2, "matmul": 1}
    assert {row.cpu_time_total for row in prof.key_averages()} == {0}


def test_parts_in_c_are_told_by_name():
    f = mg.function(lambda x: (mg.tanh(x) * 2 + 1).sum(), jit_compile="native")
    prof = second_call(f, mg.ones(300, dtype=np.float32), with_flops=True)
    if not f.c_source:
        pytest.skip("no C++ compiler")

    assert all(re.fullmatch(r"part\d+ \(\d+ in C\)", name) for name in counts(prof, "step"))
    assert sum(row.flops for row in prof.key_averages()) == 3 * 300 + 299  # three loops, and the sums of 300 numbers


def test_an_op_around_a_part_in_c_is_one_call():
    """The gradient of a convolution's filter was two: a product, and behind a part in C the shape it has."""
    layers = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    model = nn.Sequential(*layers, nn.Linear(64, 10)).float()
    optimiser = optim.Adam(model.parameters(), lr=0.1)

    @mg.function(jit_compile="native")
    def train(x, target):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimiser.step()
        return loss

    prof = second_call(train, mg.randn(2, 3, 8, 8).float(), mg.tensor([1, 2]))

    assert one(prof, "convolution_filter").count == 1


def test_a_session_tells_its_steps():
    with mg.Graph().as_default() as graph:
        x = mg.graph.placeholder(np.float64, (3,), name="x")
        y = (mg.tanh(x) * 2).sum()
    with mg.Session(graph) as session:
        expected = session.run(y, {x: [1.0, 2.0, 3.0]})
        with profile() as prof:
            assert session.run(y, {x: [1.0, 2.0, 3.0]}) == expected

    assert counts(prof, "step", "program") == {"program": 1, "tanh": 1, "mul": 1, "sum": 1}


def test_a_graph_is_built_under_a_profiler_edits_and_all():
    """An edit copied what it edits as soon as somebody watched, and a symbol has no value to copy."""
    graph = mg.Graph()
    with profile(), graph.as_default():
        x = mg.graph.placeholder(np.float64, (3,), name="x")
        y = (x * 2).add_(1)

    assert mg.Session(graph).run(y, {x: [1.0, 2.0, 3.0]}).tolist() == [3, 5, 7]


def test_operations_of_a_loop_are_counted_once_in_its_steps():
    prof = second_call(mg.jit(tanh_five_times), mg.ones(3), with_flops=True)
    (loop,) = {event.cpu_parent for event in prof.events() if event.name == "tanh"}

    assert loop.flops == 0
    assert one(prof, "mul").flops == 5 * 3


def test_a_loop_whose_turns_only_the_run_counts_has_lengths_that_are_none(tmp_path):
    @mg.function
    def f(x):
        while x.sum() < 10:
            x = x * 2
        return x.sum()

    x = mg.tensor([1.0, 2.0], requires_grad=True)
    f(x)
    with profile(record_shapes=True, with_flops=True) as prof:
        f(x).backward()
    prof.export_chrome_trace(tmp_path / "trace.json")  # no such length can be written

    assert [None] in next(event.input_shapes for event in prof.events() if event.name == "scan")
    assert {event.flops for event in prof.events() if event.name == "while"} == {0}  # its steps count theirs
    assert prof.key_averages()[0].flops is not None


def test_an_error_in_a_compiled_run_names_its_op_as_without():
    f = mg.function(lambda x, i: x[i] * 2)
    x = mg.ones(3)

    def message():
        with pytest.raises(IndexError) as raised:
            f(x, mg.tensor(7))
        return str(raised.value)

    plain = message()
    with profile() as prof:
        assert message() == plain
    assert isinstance(prof.events(), list)


def test_a_graph_that_is_searched_for_a_nan_goes_on_being_so():
    f = mg.function(lambda x: mg.log(x) * 2)
    f(mg.ones(2))
    with trap_nan(), profile(), pytest.raises(AnomalyError):
        f(mg.zeros(2))


def test_on_a_device_each_kernel_is_told_and_then_each_recording():
    x = mg.tensor(np.ones((4, 4), np.float32), device="simulated")
    f = mg.function(lambda x: mg.tanh(x @ x) * 2)
    expected = f(x).numpy()

    def steps():
        with profile() as prof, counting() as counted:
            np.testing.assert_array_equal(f(x).numpy(), expected)
        assert counted.syncs == counts(prof, "step").total() + 1  # each is waited for, and the result is read
        return counts(prof, "step")

    g = mg.function(lambda x: mg.tanh(x @ x) * 2)
    with profile() as first:
        g(x)
    np.testing.assert_array_equal(g(x).numpy(), expected)  # recorded, which may not wait

    assert counts(first, "step")["matmul"] == 1
    assert steps() == {}  # it is being recorded
    assert all(re.fullmatch(r"replay of \d+ nodes", name) for name in steps())
    assert steps()


# -- threads, ends, and what is refused --------------------------------------------------------------------------


def test_another_thread_takes_part_where_it_says_so():
    x = mg.ones(2)

    def work(prof):
        x * 2
        with prof.thread():
            x + 2

    with profile() as prof:
        x - 2
        other = threading.Thread(target=work, args=(prof,), name="helper")
        other.start()
        other.join()

    found = {(event.name, event.thread) for event in prof.events()}
    assert found == {("sub", threading.get_native_id()), ("add", other.native_id)}


def test_a_profile_needs_no_threads_of_a_system(monkeypatch):
    """A browser has none, nor a name for them: three cells of lesson 21 ended in an AttributeError."""
    monkeypatch.delattr(threading, "get_native_id")
    with profile() as prof:
        mg.ones(2) * 2

    assert counts(prof, "op", "block") == {"mul": 1}


def test_an_exception_closes_the_profiler_and_leaves_what_ran():
    prof = profile()
    with suppress(ZeroDivisionError), prof:
        mg.ones(2) * 2
        with record_function("fails"):
            raise ZeroDivisionError

    assert counts(prof, "op", "block") == {"mul": 1, "fails": 1}
    assert type(current.mode) is Mode
    assert current.mode.watchers == ()


def test_afterwards_nothing_of_it_is_left():
    with profile(profile_memory=True, with_modules=True):
        mlp()(batch())

    assert type(current.mode) is Mode
    assert (current.mode.watchers, current.mode.calls) == ((), None)


def test_a_block_that_outlives_the_profiler_ends_with_it():
    prof, block = profile(), record_function("long")
    prof.start()
    block.__enter__()
    mg.ones(2) * 2
    prof.stop()
    block.__exit__(None, None, None)

    assert counts(prof, "op", "block") == {"mul": 1, "long": 1}


def test_two_profilers_in_one_thread_are_refused():
    with profile() as prof:
        with pytest.raises(StateError, match="open in this thread already"):
            profile().start()
        mg.ones(2) * 2

    assert counts(prof, "op") == {"mul": 1}


def test_what_cannot_be_answered_is_refused_by_name(tmp_path):
    prof = profile()
    for ask in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace(tmp_path / "t.json")):
        with pytest.raises(StateError, match="once it is closed"):
            ask()
    with pytest.raises(StateError, match="this one is closed"):
        prof.step()
    with pytest.raises(StateError, match="only the thread that opened a profiler"):
        prof.stop()
    with prof:
        mg.ones(2) * 2

    for error, words, ask in [
        (ValueError, "sort_by='cuda_time'", lambda: prof.key_averages().table(sort_by="cuda_time")),
        (ValueError, "row_limit is a number of rows", lambda: prof.key_averages().table(row_limit=-3)),
        (ValueError, "record_shapes=True", lambda: prof.key_averages(group_by_input_shape=True)),
        (ValueError, "with_stack=True", lambda: prof.key_averages(group_by_stack_n=1)),
        (ValueError, "with_modules=True", lambda: prof.key_averages(group_by_module=True)),
        (ValueError, "activities", lambda: profile(activities=["cpu"])),
        (TypeError, "schedule must be a function", lambda: profile(schedule=3)),
        (TypeError, "name of a block", lambda: record_function(mlp)),
        (TypeError, "for 0, got 1", lambda: profile(schedule=lambda step: 1).start()),
    ]:
        with pytest.raises(error, match=words):
            ask()
    assert profile(activities=[ProfilerActivity.CPU])


# -- the file ------------------------------------------------------------------------------------------------------


def everything(tmp_path):
    """A run with all that there is, and its file."""
    model, x = mlp(), batch()
    optimiser = optim.Adam(model.parameters(), lr=0.1)
    f = mg.function(lambda x: model(x).square().mean())
    options = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_flops": True}
    with profile(schedule=schedule(wait=0, warmup=1, active=2), with_modules=True, **options) as prof:
        for _ in range(3):
            with record_function('"quoted" <step>'):
                f(x).backward()
                (g,) = mg.autograd.grad(model(x).square().mean(), [model[0].weight], create_graph=True)
                g.sum().backward()
                optimiser.step()
            prof.step()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    return prof, path


def refuse(constant):
    raise ValueError(constant)


def test_the_trace_obeys_the_format(tmp_path):
    """Trace Event Format: required keys, and complete events of a thread that lie in one another or side by side.

    To the last bit, as the test below says.
    """
    prof, path = everything(tmp_path)
    events = json.loads(path.read_text("utf-8"), parse_constant=refuse)["traceEvents"]
    required = {"X": {"ts", "dur"}, "M": {"args"}, "C": {"ts", "args"}, "s": {"ts", "id"}, "f": {"ts", "id"}}

    for event in events:
        assert {"ph", "name", "pid", "tid"} | required[event["ph"]] <= event.keys()
        assert all(isinstance(event[key], int | float) for key in ("ts", "dur", "pid", "tid") if key in event)
        assert event.get("dur", 0) >= 0
    assert {event["ph"] for event in events} == set(required)
    assert {event["name"] for event in events if event["ph"] == "M"} == {"process_name", "thread_name"}
    assert all(event["args"]["bytes"] >= 0 for event in events if event["ph"] == "C")

    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    for found in threads.values():
        open_until = []
        for event in sorted(found, key=lambda event: (event["ts"], -event["dur"])):
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            end = event["ts"] + event["dur"]
            assert not open_until or end <= open_until[-1], event
            open_until.append(end)

    ids = Counter((event["id"], event["ph"]) for event in events if event["ph"] in "sf")
    assert ids
    assert set(ids.values()) == {1}
    totals = Counter()
    for event in events:
        if event["ph"] == "X":
            totals[event["name"]] += event["dur"]
    ran = {row.key: row.cpu_time_total for row in prof.key_averages() if row.key != "[memory]"}
    assert ran == pytest.approx(totals, abs=0.1)  # 1/1024 of a microsecond for each


def test_an_end_in_the_file_is_where_the_next_begins_to_the_last_bit(tmp_path, clock):
    """speedscope closed the wrong event where ts + dur was rounded to one bit beyond the next ts."""
    with profile() as prof:
        for _ in range(1000):
            with record_function("next"):
                clock.now += 1_234_567
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]

    assert all(one["ts"] + one["dur"] == other["ts"] for one, other in pairwise(events))
    assert events[-1]["ts"] == pytest.approx(999 * 1234.567, abs=1e-3)


def test_a_trace_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    prof, path = everything(tmp_path)
    before = path.read_text("utf-8")
    prof.events()[0].input_shapes = [object()]
    with pytest.raises(TypeError):
        prof.export_chrome_trace(path)

    assert path.read_text("utf-8") == before
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]


# -- to look at ------------------------------------------------------------------------------------------------------


def test_a_table_is_sorted_and_cut_as_it_is_asked(clock):
    with profile() as prof:
        for name, took in (("short", 1000), ("long", 1500), ("long", 1500), ("longer", 5000)):
            with record_function(name):
                clock.now += took
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=2)

    assert re.findall(r"longer|long|short", text) == ["longer", "long"]
    assert "1 more rows" in text
    assert "Self CPU time total: 9.000us" in text
    assert re.search(r"longer +55.56% +5.000us +55.56% +5.000us +5.000us +1", text)
    assert re.search(r"long +33.33% +3.000us +33.33% +3.000us +1.500us +2", text)


def test_words_of_a_table_begin_at_the_left_and_numbers_end_at_the_right():
    """Modules and lines of code stood at the right; in a notebook a size was broken in two lines, and totals ran on."""
    table = Table({"name": "", "bytes": ",", "where": "<"}, [("a", 1000, "here"), ("longer", 5, "")], "one\ntwo")

    assert str(table).splitlines() == [
        "name    bytes  where", "------  -----  -----", "a       1,000  here", "longer      5", "one", "two",
    ]  # fmt: skip
    sides = re.findall(r'style="text-align:(left|right);white-space:nowrap"', table._repr_html_())
    assert sides == ["left", "right", "left"] * 3
    assert '<p style="white-space:pre-line">one\ntwo</p>' in table._repr_html_()


def test_the_picture_has_each_number_as_a_title_and_can_be_walked_through(tmp_path):
    prof, _ = everything(tmp_path)
    shown = prof._repr_html_()
    picture = ElementTree.fromstring(re.search(r"<svg.*?</svg>", shown, re.S)[0])
    space = "{http://www.w3.org/2000/svg}"
    bars = [g for g in picture.iter(f"{space}g") if "mg-bar" in g.attrib["class"]]

    assert bars
    assert all(bar.attrib["tabindex"] == "0" and bar.find(f"{space}title") is not None for bar in bars)
    assert all(re.search(r": [\d.]+(us|ms|s), [\d.]+%", bar.find(f"{space}title").text) for bar in bars)
    assert {bar.attrib["class"].split()[1] for bar in bars} == {"mg-module", "mg-forward", "mg-backward"}
    assert "forward blue, backward brown and dashed" in shown
    assert '<th scope="col"' in shown
    assert "&quot;quoted&quot; &lt;step&gt;" in shown
    assert "<step>" not in shown


def test_before_its_end_a_profiler_shows_that_it_is_open():
    with profile() as prof:
        assert (repr(prof), prof._repr_html_()) == ("<profile: open>", None)
    assert repr(profile()) == "<profile>"
