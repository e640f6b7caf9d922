"""What our own settings add to nbval."""

import nbval.kernel
import pytest


class Kernel:
    """A kernel that dies so many times as it begins."""

    deaths = 0

    def __init__(self, **options):
        pass

    def start_kernel(self, **options):
        pass

    start_channels = stop_channels = shutdown_kernel = start_kernel

    def client(self):
        return self

    def wait_for_ready(self, timeout):
        if Kernel.deaths:
            Kernel.deaths -= 1
            raise RuntimeError("Kernel died before replying to kernel_info")


def test_a_kernel_that_ends_as_it_begins_is_begun_once_more_and_no_more(monkeypatch, caplog):
    monkeypatch.setattr(nbval.kernel, "KernelManager", Kernel)
    monkeypatch.setattr(Kernel, "deaths", 1)
    nbval.kernel.start_new_kernel()

    Kernel.deaths = 2
    with pytest.raises(RuntimeError, match="Kernel died"):
        nbval.kernel.start_new_kernel()
