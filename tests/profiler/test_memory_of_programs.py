"""The memory ledger on compiled programs: of sessions, and in their first run."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.profiler.memory_table import Consumer
from tests.graph.sessions.test_session import open_session

SIZES = np.array([800 * 300, 400 * 800]) * 8  # bytes: of the parameters, of the batch


def session_step(optimizer):
    """A session, and a training step of it."""
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None, 800))
        loss = ((x @ mg.Variable(np.ones((800, 300)))).tanh() ** 2).mean()
        train = optimizer(mg.graph.trainable_variables(), lr=0.1).minimize(loss)
    session, batch = open_session(graph), np.ones((400, 800))
    return session, lambda: session.run([train, loss], {x: batch})


@pytest.mark.parametrize(("optimizer", "copies"), [(mg.optim.SGD, 0), (mg.optim.Adam, 2)])
def test_a_sessions_run_is_in_the_books(optimizer, copies):
    """They had 808 bytes, and called them Python's."""
    session, step = session_step(optimizer)
    step()
    with mg.profiler.memory() as ledger:
        step()
    peak, after = ledger.peak, ledger.moments[-1]
    of = dict(enumerate(peak.live))

    # A run happens or it does not: the old values are there until the new ones are.
    assert of[Consumer.PARAMETERS] == 2 * SIZES[0]
    assert of[Consumer.STATE] == pytest.approx(2 * copies * SIZES[0], abs=100)
    assert of[Consumer.INPUTS] == pytest.approx(SIZES[1], abs=100)
    assert of[Consumer.WORKSPACE] == session.last_run.run.program.text.size
    assert abs(peak.untold) < 0.02 * peak.total
    assert after.live[Consumer.PARAMETERS] == SIZES[0]
    assert after.live[Consumer.STATE] == pytest.approx(copies * SIZES[0], abs=100)
    assert "test_memory_of_programs.py" in str(peak)


def test_a_model_in_a_session_has_parameters_too():
    net = mg.nn.Sequential(mg.nn.Linear(50, 40), mg.nn.BatchNorm1d(40))
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None, 50))
        y = net(x).sum()
    with mg.Session(graph) as session, mg.profiler.memory() as ledger:
        session.run(y, {x: np.ones((8, 50))})

    assert ledger.moments[-1].live[Consumer.PARAMETERS] == sum(p.value.nbytes for p in net.parameters())


def test_a_workspace_that_is_made_in_the_block_is_counted_once():
    """It was in the books, and with Python's objects as well."""
    x, f = mg.ones(1000, 1000), mg.function(lambda x: ((x @ x).tanh() @ x).sum())
    with mg.profiler.memory(inputs=x) as ledger:
        f(x)
    after = ledger.moments[-1]

    assert after.live[Consumer.WORKSPACE] > 8_000_000
    assert after.untold < 4_000_000  # what was compiled


def test_a_first_run_is_said_to_be_one():
    net, notes = mg.nn.Sequential(mg.nn.Linear(37, 41), mg.nn.Softplus()), []
    f, x = mg.function(net), mg.ones(400, 37)
    for _ in range(3):
        with mg.profiler.memory(net, inputs=x) as ledger:
            f(x).sum().backward()
        notes.append(ledger.table().note)

    assert "run the step once before" in notes[0]
    assert "run the step once before" not in notes[2]


def test_what_was_dropped_is_not_there_now():
    x = mg.ones(512, 512)
    with mg.profiler.memory(inputs=x) as ledger:
        np.ones((2000, 2000))  # nobody has it: it came and went before the end of the block
    *_, dropped, _, whole = [row[1] for row in ledger.table().rows]

    assert ledger.moments[-1].inside > 30_000_000
    assert dropped == 0
    assert whole < 10_000_000
