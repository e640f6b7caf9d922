"""SummaryWriter, with PyTorch's names: writes numbers, histograms, images, text, curves and graphs for TensorBoard.

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)

To view the run, call `tensorboard --logdir runs`; TensorBoard is not part of this package. add_graph writes the traced
graph of a function, with its nodes grouped by module.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path, PureWindowsPath
from typing import Any, Self
from urllib.parse import quote

import numpy as np

from ..engine.base import dtypes
from ..engine.base.spec import Specs
from ..engine.core.node import Node
from ..engine.ops import Const, Input
from ..engine.tensor.tensor import Tensor
from ..graph.function import TracedFunction
from .event_file import Message, open_events, write_event
from .projector import grid, png, write_embedding

SUMMARY, GRAPH = 5, 4  # fields of an Event
TAG, METADATA = 1, 9  # fields of a Summary.Value
PRODUCER = 22  # the version of the graph format
FLOAT, STRING = 1, 7  # values of TensorFlow's DataType
BUCKETS = 30  # the default number of buckets of a histogram
LEAST = 1e-7  # the smallest divisor of a count


class SummaryWriter:
    """Writes the events of a run to a new event file in log_dir.

    log_dir        a folder; by default runs/ followed by the date and the comment
    comment        the end of the name of the default folder
    max_queue      the number of events that may wait in memory
    flush_secs     the number of seconds for which an event may wait
    filename_suffix    the end of the file name
    """

    def __init__(
        self, log_dir: str | Path | None = None, comment: str = "",
        *, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "",
    ):  # fmt: skip
        default = Path("runs") / f"{datetime.now():%b%d_%H-%M-%S}{comment}"
        self.log_dir = Path(default if log_dir is None else log_dir)
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.file = open_events(self.log_dir, filename_suffix)
        self.children: dict[str, SummaryWriter] = {}
        self.waiting, self.flushed = 0, time.monotonic()

    def get_logdir(self) -> str:
        """The folder of the event file: log_dir."""
        return str(self.log_dir)

    # -- events -------------------------------------------------------------------------------------

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: Any = None) -> None:
        """Log one number at a step. A tensor must have one element."""
        with np.errstate(over="ignore"):
            value = np.float32(number(scalar_value, tag))
        self._value(tag, {2: value}, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, walltime: Any = None
    ) -> None:
        """Log several numbers in one chart. Each number is written as a separate run, in a subfolder of log_dir."""
        for tag, value in tag_scalar_dict.items():
            name = f"{main_tag.replace('/', '_')}_{tag}"
            if name not in self.children:
                self.children[name] = SummaryWriter(self._within(name))
            self.children[name].add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = BUCKETS, walltime: Any = None
    ) -> None:
        """Log a histogram of the values. bins is the number of buckets, their edges, or a rule of numpy.histogram."""
        x = array_of(values).astype(np.float64).reshape(-1)
        if not x.size or not np.isfinite(x).all():
            wrong = int(x.size - np.isfinite(x).sum())
            raise ValueError(f"a histogram needs finite numbers, and {tag} has {x.size}, {wrong} of them not finite")
        counts, edges = np.histogram(x, bins)
        facts = (x.min(), x.max(), x.size, x.sum(), (x**2).sum())
        self.add_histogram_raw(tag, *facts, edges[1:], counts, global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: float, max: float, num: float, sum: float, sum_squares: float,
        bucket_limits: Any, bucket_counts: Any, global_step: int | None = None,
        walltime: Any = None,
    ) -> None:  # fmt: skip
        """Log a histogram that was computed elsewhere: the upper limits of its buckets, and their counts."""
        if len(bucket_limits) != len(bucket_counts):
            got = f"{len(bucket_limits)} limits and {len(bucket_counts)} counts"
            raise ValueError(f"each bucket needs a limit and a count, and {tag} got {got}")
        facts, buckets = map(float, (min, max, num, sum, sum_squares)), (bucket_limits, bucket_counts)
        fields = (*facts, *(array_of(each).astype("<f8") for each in buckets))
        self._value(tag, {5: dict(enumerate(fields, 1))}, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: Any = None, dataformats: str = "CHW"
    ) -> None:
        """Log an image of 1, 3 or 4 channels (CHW, HWC or HW): integers 0 to 255, floats 0 to 1, or bools."""
        self._picture(tag, pixels(array_of(img_tensor), dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: Any = None, dataformats: str = "NCHW"
    ) -> None:
        """Log several images as one, in rows of eight."""
        if dataformats not in ("NCHW", "NHWC"):
            raise ValueError(f"dataformats of several images must be NCHW or NHWC, got {dataformats!r}")
        each = [pixels(x, dataformats[1:]) for x in array_of(img_tensor)]
        self._picture(tag, grid(each, 8), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: Any = None
    ) -> None:
        """Log a Matplotlib figure, or a list of figures of one size. `close` closes them afterwards."""
        several = list(figure) if isinstance(figure, list | tuple) else [figure]
        each = [figure_pixels(one) for one in several]
        if len({x.shape for x in each}) != 1:
            raise ValueError(f"figures in one image need one size in pixels, got {[x.shape[:2] for x in each]}")
        self._picture(tag, grid(each, 8), global_step, walltime)
        if close:
            import matplotlib.pyplot as plt

            for one in several:
                plt.close(one)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: Any = None) -> None:
        """Log text, which TensorBoard shows as Markdown."""
        tensor = {1: STRING, 2: shape((1,)), 8: text_string.encode()}
        self._value(f"{tag}/text_summary", plugin("text") | {8: tensor}, global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: int | None = None, num_thresholds: int = 127,
        weights: Any = None, walltime: Any = None,
    ) -> None:  # fmt: skip
        """Log precision and recall at thresholds from 0 to 1, for labels 0 and 1 and predicted probabilities of 1."""
        x, t = (np.asarray(array_of(each), np.float64).reshape(-1) for each in (predictions, labels))
        w = np.broadcast_to(1.0 if weights is None else array_of(weights).reshape(-1), x.shape)
        wrong, outside = int((~np.isin(t, (0, 1))).sum()), int((~((x >= 0) & (x <= 1))).sum())
        if x.shape != t.shape or wrong or outside or not x.size:
            got = f"{t.size} labels, {wrong} of them others, and {x.size} probabilities, {outside} of them outside"
            raise ValueError(f"a curve needs labels 0 or 1, and a probability 0 to 1 for each; {tag} got {got}")
        rows = counts_above(t, x, w, num_thresholds)
        named: dict[str, Any] = {"global_step": global_step, "num_thresholds": num_thresholds, "walltime": walltime}
        self.add_pr_curve_raw(tag, *rows, **named)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
        false_negative_counts: Any, precision: Any, recall: Any, global_step: int | None = None,
        num_thresholds: int = 127, weights: Any = None, walltime: Any = None,
    ) -> None:  # fmt: skip
        """Log a curve that was computed elsewhere: six numbers at each threshold, with weights already applied."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        rows = np.stack([array_of(row) for row in (*counts, precision, recall)])
        tensor = {1: FLOAT, 2: shape(rows.shape), 5: rows.astype("<f4")}
        self._value(tag, plugin("pr_curves", {2: num_thresholds}) | {8: tensor}, global_step, walltime)

    def add_embedding(
        self, mat: Any, metadata: Sequence[Any] | None = None, label_img: Any = None, global_step: int | None = None,
        tag: str = "default", metadata_header: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Log points for the projector, one per row, in a folder named after the step and the tag.

        metadata           a label for each point or, with metadata_header, a row of labels for each
        label_img          an image for each point, (N, C, H, W)
        """
        step = whole(global_step or 0)
        pictures = None if label_img is None else [pixels(x, "CHW") for x in array_of(label_img)]
        place = f"{step:05}/{quote(tag, safe=' ')}"
        self._within(place)
        write_embedding(self.log_dir, place, f"{tag}:{step:05}", array_of(mat), metadata, metadata_header, pictures)

    def add_graph(self, model: Any, input_to_model: Any) -> None:
        """Log the traced graph of a model or function for an input, or for a tuple of inputs."""
        given = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
        traced = model if isinstance(model, TracedFunction) else TracedFunction(model)
        names = {node: scoped_name(node) for node in traced.graph_for(*given).nodes}
        self._write({GRAPH: {1: [node_def(node, names) for node in names], 4: {1: PRODUCER}}}, None, None)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None, run_name: Any = None,
        global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Log the hyperparameters and final metrics of a run, a row of TensorBoard's table, in its own subfolder.

        hparam_dict               numbers, strings, bools; None for a setting that this run does not have
        hparam_domain_discrete    setting → all its possible values; may omit settings
        """
        told = hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete or {})
        metrics = {tag: number(value, tag) for tag, value in metric_dict.items()}  # before making a folder: may raise
        with SummaryWriter(self._within(str(run_name or time.time()))) as row:
            for name, content in told.items():
                row._value(f"_hparams_/{name}", plugin("hparams", content), global_step, None)
            for tag, value in metrics.items():
                row.add_scalar(tag, value, global_step)

    # -- the file ------------------------------------------------------------------------------------

    def _value(self, tag: str, told: Message, step: int | None, walltime: float | None) -> None:
        if not isinstance(tag, str):
            raise TypeError(f"expected a tag, a str, got {tag!r}")
        self._write({SUMMARY: {1: {TAG: tag, **told}}}, step, walltime)

    def _picture(self, tag: str, x: np.ndarray, step: int | None, walltime: float | None) -> None:
        self._value(tag, {4: dict(enumerate((*x.shape, png(x)), 1))}, step, walltime)

    def _within(self, name: str) -> Path:
        """A subfolder of log_dir. Raises ValueError if the name leads out of it on any system."""
        path = PureWindowsPath(name)  # splits at both / and \\
        if path.anchor or ".." in path.parts:
            raise ValueError(f"the name of a run must be a subfolder of {self.log_dir}, and {name!r} leads out of it")
        return self.log_dir / name

    def _write(self, content: Message, step: int | None, walltime: float | None) -> None:
        if self.file.closed:
            raise ValueError(f"this SummaryWriter of {self.log_dir} is closed: make a new one, which adds another file")
        write_event(self.file, content, None if step is None else whole(step), walltime)
        self.waiting += 1
        if self.waiting >= self.max_queue or time.monotonic() - self.flushed >= self.flush_secs:
            self.flush()

    def flush(self) -> None:
        """Write all waiting events to the file."""
        for writer in (self, *self.children.values()):
            if not writer.file.closed:
                writer.file.flush()
        self.waiting, self.flushed = 0, time.monotonic()

    def close(self) -> None:
        """Write all waiting events, and close the file."""
        for writer in (*self.children.values(), self):
            writer.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def number(value: Any, tag: str) -> float:
    """The value as a float. Raises ValueError unless it has one element."""
    x = array_of(value)
    if x.size != 1:
        raise ValueError(f"a scalar is one number, and {tag} got {x.dtype}{[*x.shape]}: add_histogram shows many")
    return float(x.reshape(-1)[0])


def whole(step: Any) -> int:
    """The step as an int. Raises ValueError unless it is whole and fits into 64 bits."""
    n = step.item() if hasattr(step, "item") else step
    if n != n // 1 or not -(1 << 63) <= n < 1 << 63:
        raise ValueError(f"a step must be a 64-bit integer, got {n!r}: count batches, not parts of epochs")
    return int(n)


def array_of(value: Any) -> np.ndarray:
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


# -- images --------------------------------------------------------------------------------------------


def pixels(x: np.ndarray, dataformats: str) -> np.ndarray:
    """The image as an array of bytes (height, width, channels). Raises ValueError if x is not an image."""
    if sorted(dataformats) not in (sorted("CHW"), sorted("HW")) or x.ndim != len(dataformats):
        raise ValueError(f"an image needs the axes C, H and W, or H and W; got {[*x.shape]} as {dataformats!r}")
    x = x.transpose([dataformats.index(axis) for axis in "HWC" if axis in dataformats])
    x = x if x.ndim == 3 else x[..., None]
    if x.shape[2] not in (1, 3, 4) or not x.size or not np.isfinite(x).all():
        raise ValueError(f"an image needs 1, 3 or 4 channels of finite numbers, got {[*x.shape]} (H, W, C)")
    return np.clip(x * 255.0 if dtypes.kind(x.dtype) in "fb" else x, 0, 255).astype(np.uint8)


def figure_pixels(figure: Any) -> np.ndarray:
    """The pixels of a Matplotlib figure. Restores its canvas. Raises TypeError for anything else."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if not hasattr(figure, "set_canvas"):
        raise TypeError(f"expected a figure, as from plt.figure() or axes.figure, got a {type(figure).__name__}")
    canvas = figure.canvas
    try:
        agg: Any = FigureCanvasAgg(figure)
        agg.draw()
        return np.array(agg.buffer_rgba())[..., :3]
    finally:
        figure.set_canvas(canvas)


# -- curves and embeddings -----------------------------------------------------------------------------


def plugin(name: str, content: Message | None = None) -> Message:
    """The metadata of a Summary.Value: the plugin that shows it, and the plugin's own data."""
    return {METADATA: {1: {1: name, 2: content}}}


def shape(lengths: Sequence[Any]) -> Message:
    """A TensorShapeProto, with −1 for an unknown length."""
    return {2: [{1: n if type(n) is int else -1} for n in lengths]}


def counts_above(t: np.ndarray, x: np.ndarray, weights: np.ndarray, thresholds: int) -> np.ndarray:
    """At each threshold: true and false positives, true and false negatives, precision and recall."""
    place = np.floor(x * (thresholds - 1)).astype(int)
    at = [np.bincount(place, each * weights, thresholds) for each in (t, 1 - t)]
    tp, fp = (np.cumsum(each[::-1])[::-1] for each in at)
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(LEAST, tp + fp), tp / np.maximum(LEAST, tp + fn)))


# -- graphs --------------------------------------------------------------------------------------------


def scoped_name(node: Node) -> str:
    """The unique name of the node, with the path of the module that made it as a prefix."""
    place, is_given = getattr(node, "place", None), isinstance(node.op, Input)
    own = node.op.name if isinstance(node.op, Input) else getattr(node, "name", node.op.label)
    folder = "" if place is None or not place.module or is_given else place.module.replace(".", "/") + "/"
    return f"{folder}{own}".replace(" ", "_")


def node_def(node: Node, names: Mapping[Node, str]) -> Message:
    """A NodeDef: name, op, the names of the operands, and the shapes of the results."""
    kind = "Placeholder" if isinstance(node.op, Input) else "Const" if isinstance(node.op, Const) else node.op.kind
    specs = node.spec if isinstance(node.spec, Specs) else (node.spec,)
    attributes = [{1: "_output_shapes", 2: {1: {7: [shape(s.shape) for s in specs]}}}]
    attributes += [] if kind == "Placeholder" else [{1: "op", 2: {2: str(node.op)}}]
    return {1: names[node], 2: kind, 3: [names[x] for x in node.inputs], 5: attributes}


# -- hyperparameters -----------------------------------------------------------------------------------


def hyperparameters(
    settings: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, Sequence[Any]]
) -> dict[str, Message]:
    """The three summaries that TensorBoard's hparams plugin reads: the names, the values, and the end of the run."""
    settings = {name: value for name, value in settings.items() if value is not None}
    for name, values in domains.items():
        if name not in settings or any(hparam_value(value)[0] != hparam_value(settings[name])[0] for value in values):
            raise TypeError(f"hparam_domain_discrete maps a setting to values of its type, got {name}: {values!r}")
    listed = {name: {1: [hparam_value(value)[1] for value in values]} for name, values in domains.items()}
    infos = [{1: name.encode(), 4: hparam_value(value)[0], 5: listed.get(name)} for name, value in settings.items()]
    return {
        "experiment": {2: {4: infos, 5: [{1: {2: tag.encode()}} for tag in metrics]}},
        "session_start_info": {3: {1: [{1: name, 2: hparam_value(value)[1]} for name, value in settings.items()]}},
        "session_end_info": {4: {1: 1}},  # STATUS_SUCCESS
    }


def hparam_value(value: Any) -> tuple[int, Message]:
    """The value's hparams DataType, and its protobuf Value. Raises TypeError unless it is a string, bool or number."""
    match value:
        case str():
            return 1, {3: value}
        case bool() | np.bool_():
            return 2, {4: bool(value)}
        case int() | float() | np.number() | Tensor():
            return 3, {2: float(value)}
    raise TypeError(f"a hyperparameter must be a number, a string or a bool, got {value!r}")
