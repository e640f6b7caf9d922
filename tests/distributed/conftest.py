"""A process of which nobody has started others."""

from collections.abc import Iterator

import pytest

import minigrad.distributed as dist


@pytest.fixture
def alone() -> Iterator[None]:
    """The group of this process and no other."""
    dist.init_process_group()
    yield
    dist.destroy_process_group()
