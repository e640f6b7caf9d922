"""Who watches is told of transfers: the profiler of when, CommDebugMode of how many bytes. In a group of one."""

import json

import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import functional

pytestmark = pytest.mark.usefixtures("alone")


def test_a_transfer_is_in_the_trace_from_its_start_to_its_end_whatever_runs_meanwhile(tmp_path):
    x = mg.zeros(10)
    with mg.profiler.profile() as prof:
        dist.all_reduce(x)
        first = dist.all_reduce(x, async_op=True)
        second = dist.broadcast(x, 0, async_op=True)
        (x + 1).sum()
        first.wait()
        second.wait()
    events = prof.events()
    ops = [event for event in events if event.kind == "op"]
    begun, later = [event for event in events if event.kind == "transfer"]
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    told = json.loads(path.read_text("utf-8"))["traceEvents"]

    assert [event.name for event in events if event.kind == "collective"] == ["all_reduce", "all_reduce", "broadcast"]
    assert (begun.name, later.name) == ("all_reduce", "broadcast")
    assert begun.begin < later.begin < ops[0].begin < ops[-1].end < begun.end < later.end
    spans = [(e["ph"], e["name"], e["id"]) for e in told if e["ph"] in "be"]
    assert spans == [("b", "all_reduce", 0), ("e", "all_reduce", 0), ("b", "broadcast", 1), ("e", "broadcast", 1)]
    assert [row.count for row in prof.key_averages() if row.key == "all_reduce"] == [2]


def test_a_transfer_that_outlives_the_profiler_ends_with_it():
    with mg.profiler.profile() as prof:
        work = dist.all_reduce(mg.zeros(10), async_op=True)
    (span,) = [event for event in prof.events() if event.kind == "transfer"]
    work.wait()

    assert 0 < span.begin < span.end
    assert span.ns == span.end - span.begin


def test_calls_and_bytes_are_counted_in_place_and_as_ops():
    x, y = mg.zeros(4, 3), mg.zeros(4, 3, dtype=mg.float32)
    with dist.CommDebugMode() as counted:
        dist.all_reduce(x)
        dist.all_reduce(y, async_op=True).wait()
        dist.all_gather([mg.zeros(4, 3)], x)
        dist.reduce_scatter_tensor(mg.zeros(4, 3), x)
        mg.function(lambda x: functional.all_reduce(x).sum())(x.requires_grad_()).backward()
    dist.all_reduce(y)

    assert counted.get_comm_counts() == {"all_reduce": 4, "all_gather": 1, "reduce_scatter": 1}
    assert counted.comm_bytes == {"all_reduce": 12 * (8 + 4 + 8 + 8), "all_gather": 96, "reduce_scatter": 96}
    assert counted.get_total_counts() == 6
    assert counted.messages == []


def test_alone_each_gives_what_it_was_given():
    x, y = mg.arange(3.0), [mg.zeros(3)]
    dist.reduce(x, 0)
    dist.gather(x, y)
    dist.scatter(x, [mg.ones(3)])

    assert (y[0].numpy() == [0, 1, 2]).all()
    assert (x.numpy() == 1).all()


def test_a_mode_that_is_opened_again_begins_anew():
    counted = dist.CommDebugMode()
    for _ in range(2):
        with counted:
            dist.broadcast(mg.zeros(2), 0)

    assert counted.get_comm_counts() == {"broadcast": 1}
    assert counted.comm_bytes == {"broadcast": 16}
