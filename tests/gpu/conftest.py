"""Tests of what needs a GPU. Where there is none, they run on the simulated one.

`python -m benchmarks gpu --tests` runs them beside each other. They need NumPy, lazy_loader, CuPy and pytest.
"""

from __future__ import annotations

import os

import pytest

import minigrad as mg

IS_HERE, REASON = mg.gpu_status()


def pytest_collection_modifyitems(items):
    """SHARE=2/12 runs every twelfth test, from the third on."""
    first, step = map(int, os.environ.get("SHARE", "0/1").split("/"))
    items[:] = items[first::step]


@pytest.fixture(params=["gpu" if IS_HERE else "simulated"])
def device(request):
    """The GPU, or what stands for it."""
    found = mg.device(request.param)
    yield found
    found.doubts.clear()
    if IS_HERE:
        heard(request.session)


@pytest.fixture
def cupy():
    """CuPy, where it has a GPU."""
    if not IS_HERE:
        pytest.skip(f"no GPU: {REASON}")
    return pytest.importorskip("cupy")


def heard(session):
    """What a kernel did wrong is told now, and not to the next test. After that this process has no GPU any more."""
    try:
        mg.device("gpu").xp.cuda.Device().synchronize()
    except Exception as error:
        session.shouldstop = f"the GPU is lost to this process: {error}"
        raise
