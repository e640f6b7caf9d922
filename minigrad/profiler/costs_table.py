"""An estimate as text and HTML: a table of modules, the totals, and a picture of the FLOPs by module."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from ..engine.base.table import Table
from .icicle import icicle_svg, tree

COUNTS = "parameters", "MACs", "FLOPs", "saved for backward"
HEAD = {"module": "<", "type": "<", "output": "<", **dict.fromkeys(COUNTS, ",")}
NOTE = "Each module with all that is in it; 1 MAC = 2 FLOPs; bytes saved for backward at the first op that saves them."


def module_of(node: Any) -> str:
    """The path of the module whose call ran this node."""
    return "" if node.place is None else node.place.module


def table(e: Any, depth: int | None) -> Table:
    """A row for each module, down to a depth."""
    own = [(path, p.size) for path, part in e.parts.items() for p in part.parameters]
    rows = []
    for path, cost in e.by_module.items():
        level, name = path.count("."), path.rpartition(".")[2] or "(outside of modules)"
        if depth is None or level <= depth:
            kind, output = e.parts[path].kind if path in e.parts else "", str(e.outputs.get(path, "")).partition("@")[0]
            size = sum(n for other, n in own if f"{other}.".startswith(f"{path}."))
            name = "\N{NO-BREAK SPACE}" * 2 * level + name
            rows.append((name, kind, output, size, cost.macs, cost.flops, cost.saved_bytes))
    return Table(HEAD, rows, NOTE)


def figures(e: Any) -> dict[str, str]:
    """The totals of an estimate, in words."""
    kinds = " and ".join(sorted({f"{p.dtype}" for p in e.parameter_tensors}))
    numbers = f"{e.parameters:,}{f' in {kinds}' * bool(kinds)}"
    numbers += f", of which {e.trainable:,} learn" * (e.trainable != e.parameters)
    per = "; ".join(f"{name} {size:g}" for name, size in e.bytes_per_parameter.items())
    return {
        "parameters": f"{numbers}; buffers {e.buffers:,}; a checkpoint {e.checkpoint_bytes:,} bytes",
        "forward": f"{e.macs:,} MACs of products and convolutions; {e.flops:,} FLOPs of all ops",
        "backward": f"{e.backward_macs:,} MACs; {e.backward_flops:,} FLOPs; both ways {e.train_flops:,} FLOPs",
        "bytes moved": f"{e.bytes_moved:,} forward, {e.intensity:.3g} FLOPs for each",
        "activations": f"{e.saved_bytes:,} bytes saved for backward, inputs among them; of what is computed, "
        f"{e.peak_bytes:,} at the peak of forward, and {e.inference_peak_bytes:,} where nothing is saved",
        "training state": f"bytes for each parameter: {per}",
    }


def text(e: Any, depth: int | None) -> str:
    """The table and the totals."""
    return "\n".join([str(table(e, depth)), "", *(f"{name:<15} {value}" for name, value in figures(e).items())])


def html(e: Any, depth: int | None) -> str:
    """The table and the totals as HTML, with the picture."""
    whole = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in figures(e).items())
    picture = icicle_svg(tree(leaves(e)), lambda flops: f"{flops:,} FLOPs", "FLOPs")
    return f'<div class="mg-widget">{picture}{table(e, depth)._repr_html_()}<dl>{whole}</dl></div>'


def leaves(e: Any) -> Iterator[tuple[str, str, str, int]]:
    """(module, direction, kind of op, FLOPs) of each op, once for each direction: forward and backward."""
    for node, cost in e.costs.items():
        yield module_of(node), "forward", node.op.kind, cost.flops
        yield module_of(node), "backward", node.op.kind, cost.backward_flops
