"""Compares two notebooks as a reader sees them, and finds their first difference.

Everything is compared exactly except the pixels of plots: a few may differ, because processors round the last digit
differently.
"""

from __future__ import annotations

import base64
import io
import json
from typing import Any

STRAY_PIXELS = 0.005  # the fraction of a plot that may differ: a shifted curve covers more
STRAY_SHADE = 32  # of 255


def difference(old: str, new: str) -> str | None:
    """The first place where two notebook files differ, in words; None if they do not."""
    if old == new:
        return None
    try:
        before, after = json.loads(old), json.loads(new)
    except ValueError:
        return "the file is no JSON"
    for number, (cell, built) in enumerate(zip(before["cells"], after["cells"])):
        for key in sorted(cell.keys() | built.keys()):
            if not same(cell.get(key), built.get(key)):
                return f"cell {number} ({cell.get('id')}) has another {key}: {excerpts(cell.get(key), built.get(key))}"
    if len(before["cells"]) != len(after["cells"]):
        return f"it has {len(before['cells'])} cells, and {len(after['cells'])} are built"
    if before["metadata"] != after["metadata"]:
        return f"another metadata: {excerpts(before['metadata'], after['metadata'])}"
    return None if canonical(before) == old else "the same content, laid out in another way"


def canonical(nb: Any) -> str:
    return json.dumps(nb, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def same(old: Any, new: Any, key: str = "") -> bool:
    """Whether two outputs are equal, with plots up to stray pixels."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(old[k], new[k], k) for k in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    return old == new or (key == "image/png" and same_picture(old, new))


def same_picture(old: str, new: str) -> bool:
    import numpy as np
    from PIL import Image

    a, b = (np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"), int) for png in (old, new))
    return a.shape == b.shape and bool((np.abs(a - b).max(axis=-1) > STRAY_SHADE).mean() <= STRAY_PIXELS)


def excerpts(old: Any, new: Any) -> str:
    """The stored and the fresh text, from shortly before the first place where they differ."""
    a, b = (json.dumps(x, sort_keys=True, ensure_ascii=False) for x in (old, new))
    at = next((i for i, (c, d) in enumerate(zip(a, b)) if c != d), min(len(a), len(b)))
    start = max(0, at - 20)
    return f"stored …{a[start : at + 60]}…, fresh …{b[start : at + 60]}…"
