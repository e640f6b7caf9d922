"""On a cluster: the same results, and a worker that dies takes none with it."""

import os
import signal
import sys
import threading

import pytest

from minigrad.course import CourseError
from minigrad.course.grading import cgroup
from minigrad.course.grading.batch import Batch, Course
from minigrad.course.grading.sandbox import Cluster
from tests.course.grading.cases import CASES, ROOT
from tests.course.grading.sandboxes import sandbox_here
from tests.course.grading.test_batch import hand_in

distributed = pytest.importorskip("distributed", reason="a cluster is dask's: python -m pip install distributed")

KINDS = ("as_it_should_be", "slopes_swapped", "untouched", "no_json")


@pytest.fixture(scope="module")
def cluster():
    sandbox_here()
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


def test_a_worker_that_dies_loses_nothing_and_counts_nothing_twice(cluster, tmp_path):
    handed = hand_in(tmp_path / "in", **{f"{kind}{i}": CASES[kind].data + b" " * i for kind in KINDS for i in range(4)})
    there = Cluster(cluster.scheduler_address)
    done = []

    def progress(result):
        done.append(result)
        if len(done) == 3:
            first = next(iter(cluster.workers.values()))
            threading.Thread(target=os.kill, args=(first.pid, signal.SIGKILL)).start()

    results = Batch(Course(ROOT / "exercises"), there, tmp_path / "out").run(handed, progress)
    judges = there.client.run(lambda: "minigrad.course.grading.grade" in sys.modules)
    there.client.close()
    assert not any(judges.values())  # what is expected never leaves this process
    wanted = [(CASES[each.student[:-1]].points, CASES[each.student[:-1]].status) for each in handed]
    assert [(r["points"], r["status"]) for r in results] == wanted
    assert len(done) == len(handed) == len(list((tmp_path / "out" / "results").iterdir()))


def test_what_the_workers_do_not_enforce_is_said_once(cluster):
    there = Cluster(cluster.scheduler_address)
    there.client.run(lambda: setattr(cgroup, "missing", lambda: ["no groups"]))
    assert there.missing() == ["no groups"]
    there.client.close()


def test_where_no_worker_is_connected_a_sentence_says_so():
    """The command waited without a word."""
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty:
        there = Cluster(empty.scheduler_address)
        assert there.missing() == ["no worker is connected to the cluster; grading starts when one is"]
        there.client.close()


def test_where_there_is_no_cluster_a_sentence_says_so():
    with pytest.raises(CourseError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1:"):
        Cluster("tcp://127.0.0.1:1")
