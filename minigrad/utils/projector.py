"""The files of TensorBoard's projector, which shows rows of numbers as points: tables, pictures, and a list of them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from ..base.whole_file import replace_file


@dataclass
class Embedding:
    """Points under a name, and what is known of each.

    place       of its files, as the list says it
    labels      one for each point; with a header, a row of them
    pictures    one for each point, of one size
    """

    name: str
    place: str
    points: np.ndarray
    labels: Sequence[Any] | None
    header: Sequence[str] | None
    pictures: Sequence[np.ndarray] | None

    def __post_init__(self) -> None:
        if self.points.ndim != 2:
            raise ValueError(f"an embedding is a matrix, a row for each point; got {[*self.points.shape]}")
        for what, given in (("labels", self.labels), ("pictures", self.pictures)):
            if given is not None and len(given) != len(self.points):
                raise ValueError(f"{self.name} has {len(self.points)} points, and got {len(given)} {what}")

    def write(self, folder: Path, config: Path) -> None:
        """Write the files, then the list: this entry behind those of other places, which earlier runs have left."""
        rows = ("\t".join(map(str, row)) + "\n" for row in self.points.tolist())
        files = {"tensors.tsv": "".join(rows).encode()}
        path = {name: json.dumps(f"{self.place}/{name}") for name in ("tensors.tsv", "metadata.tsv", "sprite.png")}
        entry = f"  tensor_name: {json.dumps(self.name)}\n  tensor_path: {path['tensors.tsv']}\n"
        if self.labels is not None:
            files["metadata.tsv"] = table(self.labels, self.header).encode()
            entry += f"  metadata_path: {path['metadata.tsv']}\n"
        if self.pictures:
            files["sprite.png"] = png(grid(self.pictures, ceil(len(self.pictures) ** 0.5), square=True))
            height, width, _ = self.pictures[0].shape
            size = f"    single_image_dim: {width}\n    single_image_dim: {height}\n"
            entry += f"  sprite {{\n    image_path: {path['sprite.png']}\n{size}  }}\n"
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            replace_file(folder / name, [data])
        listed = re.split(r"(?m)^(?=embeddings )", config.read_text("utf-8") if config.exists() else "")
        others = (each for each in listed if path["tensors.tsv"] not in each)
        replace_file(config, ["".join([*others, f"embeddings {{\n{entry}}}\n"]).encode()])


def table(rows: Sequence[Any], header: Sequence[str] | None) -> str:
    """Labels as the projector reads them: it skips blank lines, and a first line with a tab is the header."""
    cells = [[str(row)] if header is None else [*map(str, row)] for row in rows]
    head = ["label"] if header is None else [*map(str, header)]
    for row in (head, *cells):
        if len(row) != len(head) or any(set("\t\n\r") & set(cell) for cell in row) or not "".join(row).strip():
            wanted = f"one for each of {head}, not all blank, without tabs and line breaks"
            raise ValueError(f"the labels of a point are {wanted}; got {row}")
    return "".join("\t".join(row) + "\n" for row in ([head] if len(head) > 1 else []) + cells)


def png(x: np.ndarray) -> bytes:
    from PIL import Image  # matplotlib's own; who logs numbers does not load it

    file = io.BytesIO()
    Image.fromarray(x if x.shape[2] > 1 else x[..., 0]).save(file, format="PNG")
    return file.getvalue()


def grid(pictures: Sequence[np.ndarray], columns: int, square: bool = False) -> np.ndarray:
    """Pictures of one size in rows, black where there is none; square: with as many rows as columns."""
    height, width, channels = pictures[0].shape
    across = columns if square else min(columns, len(pictures))
    down = across if square else -(-len(pictures) // across)
    cells = np.zeros((down, across, height, width, channels), np.uint8)
    for i, x in enumerate(pictures):
        cells[divmod(i, across)] = x
    return cells.transpose(0, 2, 1, 3, 4).reshape(down * height, across * width, channels)
