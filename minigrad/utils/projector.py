"""The files of TensorBoard's projector, which shows embeddings: tables, images, and a config file that lists them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.base.whole_file import replace_file

Rows = Sequence[Any] | None


def write_embedding(
    log_dir: Path, place: str, name: str, points: np.ndarray, labels: Rows, header: Rows, pictures: Rows
) -> None:
    """Write points into the folder `place` of a run, and add them to the projector's config file.

    labels      a label for each point or, with a header, a row of labels for each
    pictures    a picture for each point, all of the same size
    """
    if points.ndim != 2:
        raise ValueError(f"an embedding is a matrix, a row for each point; got {[*points.shape]}")
    for what, given in (("labels", labels), ("pictures", pictures)):
        if given is not None and len(given) != len(points):
            raise ValueError(f"{name} has {len(points)} points, and got {len(given)} {what}")
    path = {file: json.dumps(f"{place}/{file}") for file in ("tensors.tsv", "metadata.tsv", "sprite.png")}
    files = {"tensors.tsv": "".join("\t".join(map(str, row)) + "\n" for row in points.tolist()).encode()}
    entry = f"  tensor_name: {json.dumps(name)}\n  tensor_path: {path['tensors.tsv']}\n"
    if labels is not None:
        files["metadata.tsv"] = table(labels, header).encode()
        entry += f"  metadata_path: {path['metadata.tsv']}\n"
    if pictures:
        files["sprite.png"] = png(grid(pictures, ceil(len(pictures) ** 0.5), square=True))
        height, width, _ = pictures[0].shape
        size = f"    single_image_dim: {width}\n    single_image_dim: {height}\n"
        entry += f"  sprite {{\n    image_path: {path['sprite.png']}\n{size}  }}\n"
    (log_dir / place).mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        replace_file(log_dir / place / file, [data])
    config = log_dir / "projector_config.pbtxt"
    listed = re.split(r"(?m)^(?=embeddings )", config.read_text("utf-8") if config.exists() else "")
    others = (each for each in listed if path["tensors.tsv"] not in each)
    replace_file(config, ["".join([*others, f"embeddings {{\n{entry}}}\n"]).encode()])


def table(rows: Sequence[Any], header: Rows) -> str:
    """Labels as a TSV file. The projector skips blank lines. If the first line has a tab, it is read as the header."""
    cells = [[str(row)] if header is None else [*map(str, row)] for row in rows]
    head = ["label"] if header is None else [*map(str, header)]
    for row in (head, *cells):
        if len(row) != len(head) or any(set("\t\n\r") & set(cell) for cell in row) or not "".join(row).strip():
            wanted = f"one for each of {head}, not all blank, without tabs and line breaks"
            raise ValueError(f"the labels of a point are {wanted}; got {row}")
    return "".join("\t".join(row) + "\n" for row in ([head] if len(head) > 1 else []) + cells)


def png(x: np.ndarray) -> bytes:
    from PIL import Image  # a dependency of matplotlib; not imported unless images are logged

    file = io.BytesIO()
    Image.fromarray(x if x.shape[2] > 1 else x[..., 0]).save(file, format="PNG")
    return file.getvalue()


def grid(pictures: Sequence[np.ndarray], columns: int, square: bool = False) -> np.ndarray:
    """Pictures of one size as one image, in rows; empty cells are black. `square` makes as many rows as columns."""
    height, width, channels = pictures[0].shape
    across = columns if square else min(columns, len(pictures))
    down = across if square else -(-len(pictures) // across)
    cells = np.zeros((down, across, height, width, channels), np.uint8)
    for i, x in enumerate(pictures):
        cells[divmod(i, across)] = x
    return cells.transpose(0, 2, 1, 3, 4).reshape(down * height, across * width, channels)
