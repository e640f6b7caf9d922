"""The nbval plugin: how a notebook's cells are run, and how their outputs are compared with the stored ones.

nbval runs each cell as a test. This adds what a course needs:

- The kernel is this Python in a fixed environment, so that numbers and pictures come out the same everywhere. There
  `reveal` shows an answer at once, without asking for a lock.
- Every part of an output is compared: text, HTML, errors, and pictures up to a few stray pixels.
- A cell of an exercise may raise NotImplementedError, where the answer is still missing, and nothing else.

`scripts/build` runs notebooks through this plugin too, so what it stores is what nbval will see.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from nbformat import from_dict
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager, RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from minigrad.course.prediction import AT_ONCE
from notebooks.difference import excerpts, same
from notebooks.forked_kernels import kernel_environment, use_forks
from notebooks.outputs import sanitize

OUTPUT_SECONDS = 60  # nbval waits 5 s for an output, which a busy machine can exceed


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(parent: pytest.Collector) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Puts our kind of notebook in place of nbval's."""
    collectors = yield
    return [Notebook.from_parent(parent, path=c.path) if isinstance(c, IPyNbFile) else c for c in collectors]


class Kernel(RunningKernel):
    """A kernel of this Python that does not read the user's settings."""

    def __init__(self, folder: Path) -> None:
        self.scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.km = KernelManager(
            kernel_name=CURRENT_ENV_KERNEL_NAME,
            kernel_spec_manager=NbvalKernelspecManager(),
            connection_file=str(Path(self.scratch.name) / "kernel.json"),
            # Two kernels that start at the same moment may choose one TCP port; sockets in a folder cannot collide.
            transport="ipc" if os.name == "posix" else "tcp",
        )
        use_forks(self.km)
        environment = kernel_environment() | {"IPYTHONDIR": self.scratch.name, AT_ONCE: "1"}
        with Path(os.devnull).open("w") as quiet:
            self.km.start_kernel(cwd=str(folder), env=environment, stderr=quiet, extra_arguments=["--log-level=ERROR"])
        self.kc = self.km.client()
        self.kc.start_channels()
        try:
            self.kc.wait_for_ready(timeout=OUTPUT_SECONDS)
            self._ensure_iopub_up()
        except RuntimeError:
            self.stop()
            raise

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """Run a cell with an execution count of its own, as JupyterLab does; by nbval each cell is In[1]."""
        return self.kc.execute(cell_input, store_history=True, allow_stdin=False, stop_on_error=False)

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Wait as nbval does, but no longer once the kernel has died."""
        deadline = time.monotonic() + (timeout or OUTPUT_SECONDS)
        while True:
            try:
                return super().await_reply(msg_id, timeout=1)
            except Empty:
                if not self.is_alive():
                    raise RuntimeError("Kernel died") from None
                if time.monotonic() > deadline:
                    raise

    def stop(self) -> None:
        super().stop()
        self.scratch.cleanup()


class Notebook(IPyNbFile):
    """A notebook: its code cells are tests, which share one kernel."""

    def setup(self) -> None:
        self.kernel = Kernel(self.path.parent)
        self.displays: dict[str, dict[str, Any]] = {}

    def get_kernel_message(self, timeout: float | None = None, stream: str = "iopub") -> dict[str, Any]:
        """The next message, with displays updated in place as JupyterLab does; nbval would ignore the update."""
        message: dict[str, Any] = super().get_kernel_message(timeout, stream)
        content = message["content"]
        name = content.get("transient", {}).get("display_id")
        if message["msg_type"] == "update_display_data":
            for key in ("data", "metadata"):
                self.displays[name][key].clear()
                self.displays[name][key].update(from_dict(content[key]))
            return self.get_kernel_message(timeout, stream)
        if message["msg_type"] == "display_data" and name:
            content |= {key: from_dict(content[key]) for key in ("data", "metadata")}  # updates edit these nodes
            self.displays[name] = content
        return message

    def collect(self) -> Iterator[Cell]:
        for item in super().collect():
            facts = {key: getattr(item, key) for key in ("cell_num", "cell", "options")}
            yield Cell.from_parent(self, name=item.name, **facts)

    def teardown(self) -> None:
        """Ends the kernel, even one that has died: its client's threads would outlive it."""
        if self.kernel:
            self.kernel.stop()


class Cell(IPyNbCell):
    """One code cell."""

    def __init__(self, **facts: Any) -> None:
        super().__init__(**facts)
        self.output_timeout = OUTPUT_SECONDS

    def runtest(self) -> None:
        super().runtest()
        if self.parent.path.parent.name == "exercises":
            for output in self.test_outputs:
                if output.output_type == "error" and output.ename != "NotImplementedError":
                    self.raise_cell_error("Only NotImplementedError is expected here", output.evalue)

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: Any = None) -> bool:
        fresh = sanitize(test)
        self.comparison_traceback = [excerpts(ref, fresh)]
        return same(ref, fresh)
