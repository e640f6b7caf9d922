"""SummaryWriter, with PyTorch's names: numbers, distributions, pictures, texts and graphs, for TensorBoard to show.

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)

and then `tensorboard --logdir runs`, which is not part of this package. A graph is the one a function is traced to, its
nodes in boxes for the modules that made them.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PureWindowsPath
from typing import Any, Self

import numpy as np

from ..base import dtypes
from ..base.spec import Specs
from ..core.node import Node
from ..graph.function import TracedFunction
from ..ops import Const, Input
from ..tensor.tensor import Tensor
from .event_file import EventFile, double, doubles, integer, message, single

SUMMARY, GRAPH = 5, 4  # fields of an Event
TAG, METADATA = 1, 9  # of a Summary.Value
PRODUCER = 22  # the version of graphs that is written
STRING = 7  # the type of a tensor of texts
BUCKETS = 30  # of a histogram


class SummaryWriter:
    """Writes what a run has to tell into an event file of its own, in log_dir.

    log_dir        a folder; runs/ and the date by default, with the comment behind it
    comment        of a default folder
    max_queue      events that may wait in memory
    flush_secs     seconds that one may wait there
    filename_suffix    of the file
    """

    def __init__(
        self,
        log_dir: str | Path | None = None,
        comment: str = "",
        *,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ):
        default = Path("runs") / f"{datetime.now():%b%d_%H-%M-%S}{comment}"
        self.log_dir = Path(default if log_dir is None else log_dir)
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.file: EventFile | None = EventFile(self.log_dir, filename_suffix)
        self.children: dict[str, SummaryWriter] = {}
        self.waiting, self.flushed = 0, time.monotonic()

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.log_dir)

    # -- what is told -------------------------------------------------------------------------------

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: Any = None) -> None:
        """One number at a step. A tensor must have one element."""
        self._value(tag, single(2, number(scalar_value, tag)), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, walltime: Any = None
    ) -> None:
        """Several numbers in one chart: each is a run of its own, in a folder beside this run's file."""
        for tag, value in tag_scalar_dict.items():
            name = f"{main_tag.replace('/', '_')}_{tag}"
            if name not in self.children:
                self.children[name] = SummaryWriter(self._within(name))
            self.children[name].add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = BUCKETS, walltime: Any = None
    ) -> None:
        """How the values are distributed, in buckets: their number, their edges, or a rule of numpy.histogram."""
        x = array_of(values).astype(np.float64).reshape(-1)
        if not x.size or not np.isfinite(x).all():
            wrong = int(x.size - np.isfinite(x).sum())
            raise ValueError(f"a histogram needs finite numbers, and {tag} has {x.size}, {wrong} of them not finite")
        counts, edges = np.histogram(x, bins)
        facts = (x.min(), x.max(), x.size, x.sum(), (x**2).sum())
        told = b"".join(double(i, float(each)) for i, each in enumerate(facts, 1))
        self._value(tag, message(5, told + doubles(6, edges[1:]) + doubles(7, counts)), global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: Any = None, dataformats: str = "CHW"
    ) -> None:
        """A picture of 1, 3 or 4 channels (CHW, HWC or HW): integers from 0 to 255, numbers from 0 to 1, or bools."""
        self._value(tag, message(4, picture(pixels(array_of(img_tensor), dataformats))), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: Any = None, dataformats: str = "NCHW"
    ) -> None:
        """Several pictures, side by side."""
        if dataformats not in ("NCHW", "NHWC"):
            raise ValueError(f"several pictures are NCHW or NHWC, and got dataformats={dataformats!r}")
        each = [pixels(x, dataformats[1:]) for x in array_of(img_tensor)]
        self._value(tag, message(4, picture(np.concatenate(each, 1))), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: Any = None) -> None:
        """A text, which is shown as Markdown."""
        tensor = integer(1, STRING) + message(2, message(2, integer(1, 1))) + message(8, text_string)
        told = message(8, tensor) + message(METADATA, message(1, message(1, "text")))
        self._value(f"{tag}/text_summary", told, global_step, walltime)

    def add_graph(self, model: Any, input_to_model: Any) -> None:
        """The graph that the model, or a function, is traced to for an input, or for several in a tuple."""
        given = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
        traced = model if isinstance(model, TracedFunction) else TracedFunction(model)
        names: dict[Node, str] = {}
        for node in traced.graph_for(*given).nodes:
            names[node] = scoped(node)
        nodes = b"".join(message(1, described(node, names)) for node in names)
        self._write(message(GRAPH, nodes + message(4, integer(1, PRODUCER))), None, None)

    def add_hparams(self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any], run_name: Any = None) -> None:
        """The settings of a run and what came of it, one row of TensorBoard's table: in a folder of its own."""
        with SummaryWriter(self._within(f"{time.time()}" if run_name is None else str(run_name))) as row:
            for name, content in hyperparameters(hparam_dict, metric_dict):
                row._value(name, message(METADATA, message(1, message(1, "hparams") + message(2, content))), None, None)
            for tag, value in metric_dict.items():
                row.add_scalar(tag, value, 0)

    # -- the file ------------------------------------------------------------------------------------

    def _value(self, tag: str, told: bytes, step: int | None, walltime: float | None) -> None:
        self._write(message(SUMMARY, message(1, message(TAG, tag) + told)), step, walltime)

    def _within(self, name: str) -> Path:
        """A folder in log_dir. Raises ValueError for a name that leads out of it, on whatever system."""
        path = PureWindowsPath(name)  # which parts / and \\ alike
        if path.anchor or ".." in path.parts:
            raise ValueError(f"a run has a folder of its own in {self.log_dir}, and {name!r} leads out of it")
        return self.log_dir / name

    def _write(self, content: bytes, step: int | None, walltime: float | None) -> None:
        if self.file is None:
            raise ValueError(f"this SummaryWriter of {self.log_dir} is closed: make another, which adds a file to it")
        self.file.write(content, None if step is None else whole(step), walltime)
        self.waiting += 1
        if self.waiting >= self.max_queue or time.monotonic() - self.flushed >= self.flush_secs:
            self.flush()

    def flush(self) -> None:
        """Have everything in the file."""
        for writer in (self, *self.children.values()):
            if writer.file is not None:
                writer.file.flush()
        self.waiting, self.flushed = 0, time.monotonic()

    def close(self) -> None:
        """Have everything in the file, and no more."""
        for writer in (*self.children.values(), self):
            if writer.file is not None:
                writer.file.close()
                writer.file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def number(value: Any, tag: str) -> float:
    """One number. Raises ValueError for several."""
    x = array_of(value)
    if x.size != 1:
        raise ValueError(f"a scalar is one number, and {tag} got {x.dtype}{[*x.shape]}: add_histogram shows many")
    return float(x.reshape(-1)[0])


def whole(step: Any) -> int:
    """A step as an event has room for it. Raises ValueError for what would be another there."""
    n = step.item() if hasattr(step, "item") else step
    if n != n // 1 or not -(1 << 63) <= n < 1 << 63:
        raise ValueError(f"a step is a whole number of 64 bits, and got {n!r}: count batches, not parts of epochs")
    return int(n)


def array_of(value: Any) -> np.ndarray:
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


# -- pictures ------------------------------------------------------------------------------------------


def pixels(x: np.ndarray, dataformats: str) -> np.ndarray:
    """Bytes, by height, width and channel. Raises ValueError for what is no picture."""
    if sorted(dataformats) not in (sorted("CHW"), sorted("HW")) or x.ndim != len(dataformats):
        raise ValueError(f"a picture has the axes C, H and W, or H and W; got {[*x.shape]} as {dataformats!r}")
    x = x.transpose([dataformats.index(axis) for axis in "HWC" if axis in dataformats])
    x = x if x.ndim == 3 else x[..., None]
    if x.shape[2] not in (1, 3, 4) or not x.size or not np.isfinite(x).all():
        raise ValueError(f"a picture has 1, 3 or 4 channels of finite numbers, and got {[*x.shape]} (H, W, C)")
    scaled = x * 255.0 if dtypes.kind(x.dtype) in "fb" else x
    return np.clip(scaled, 0, 255).astype(np.uint8)


def picture(x: np.ndarray) -> bytes:
    """A Summary.Image: a PNG, and its size."""
    from PIL import Image  # matplotlib's own; who logs numbers does not load it

    height, width, channels = x.shape
    file = io.BytesIO()
    Image.fromarray(x if channels > 1 else x[..., 0]).save(file, format="PNG")
    return integer(1, height) + integer(2, width) + integer(3, channels) + message(4, file.getvalue())


# -- graphs --------------------------------------------------------------------------------------------


def scoped(node: Node) -> str:
    """The node's own name, which no other of its graph has, in folders for the modules that it was made in."""
    place, is_given = getattr(node, "place", None), isinstance(node.op, Input)
    own = node.op.name if isinstance(node.op, Input) else getattr(node, "name", node.op.label)
    folder = "" if place is None or not place.module or is_given else place.module.replace(".", "/") + "/"
    return f"{folder}{own}".replace(" ", "_")


def described(node: Node, names: Mapping[Node, str]) -> bytes:
    """A NodeDef: name, op, the names of the operands, and the shapes of the results."""
    kind = "Placeholder" if isinstance(node.op, Input) else "Const" if isinstance(node.op, Const) else node.op.kind
    specs = node.spec if isinstance(node.spec, Specs) else (node.spec,)
    shapes = b"".join(message(7, b"".join(message(2, integer(1, known(n))) for n in s.shape)) for s in specs)
    attributes = {"_output_shapes": message(1, shapes)} | (
        {} if kind == "Placeholder" else {"op": message(2, str(node.op))}
    )
    return (
        message(1, names[node])
        + message(2, kind)
        + b"".join(message(3, names[x]) for x in node.inputs)
        + b"".join(message(5, message(1, key) + message(2, value)) for key, value in attributes.items())
    )


def known(n: Any) -> int:
    """A length; −1 for one that is not known."""
    return n if type(n) is int else -1


# -- hyperparameters -----------------------------------------------------------------------------------


def hyperparameters(settings: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """The three summaries that the plugin reads: which names there are, the values, and that the run has ended."""
    infos = b"".join(message(4, message(1, name) + integer(4, type_of(value))) for name, value in settings.items())
    infos += b"".join(message(5, message(1, message(2, tag))) for tag in metrics)
    start = b"".join(
        message(1, message(1, name) + message(2, protobuf_value(value))) for name, value in settings.items()
    )
    return [
        ("_hparams_/experiment", message(2, infos)),
        ("_hparams_/session_start_info", message(3, start)),
        ("_hparams_/session_end_info", message(4, integer(1, 1))),  # STATUS_SUCCESS
    ]


def type_of(value: Any) -> int:
    """DataType of hparams: 1 a text, 2 yes or no, 3 a number. Raises TypeError for anything else."""
    for kind, of in ((1, str), (2, bool), (3, (int, float, np.number, Tensor))):
        if isinstance(value, of):
            return kind
    raise TypeError(f"a hyperparameter is a number, a text or a bool, and got {value!r}")


def protobuf_value(value: Any) -> bytes:
    """A google.protobuf.Value."""
    kind = type_of(value)
    return message(3, value) if kind == 1 else integer(4, value) if kind == 2 else double(2, float(value))
