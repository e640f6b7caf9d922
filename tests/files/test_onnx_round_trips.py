"""Random programs, exported to ONNX and loaded again: every engine, and the loaded program, agrees with eager mode.

NIGHTLY=1 tries 5,000 of them instead of these few; `python tests/files/test_onnx_round_trips.py 1000 7` tries 1,000
from seed 7 on, and prints those that differ.
"""

import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError, MinigradError
from minigrad.engine.base.pytree import leaves
from tests.support.fuzz_programs import Different, array, program, same, silence
from tests.support.onnx_engines import answers

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PROGRAMS = 5_000 if os.environ.get("NIGHTLY") else 60
BATCH = 60


def program_of(seed):
    """A program that leaves no .grad, and its first lengths (of the export, of the run) if they are unknown."""
    r = Random(seed)
    made = program(r)
    tail = "" if made.tail == "backward" else made.tail
    n = made.inputs[0][0][0]
    return replace(made, tail=tail), (n, n + 2) if n in range(2, 6) and r.random() < 0.4 else None


def model_of(made, lengths):
    axes = {}
    if lengths:
        axes = {f"x{i}": {0: "n"} for i, (shape, *_) in enumerate(made.inputs) if shape and shape[0] == lengths[0]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        mg.onnx.export(made.function(mg), tuple(made.leaves(mg)), path, dynamic_axes=axes)
        return path.read_bytes()


def run_loaded(model, xs, wrap):
    return [array(y) for y in leaves(wrap(mg.onnx.load(model))(*xs))]


def trials(seeds):
    """(seed, program, arrays, model, eager results) of programs that can be exported; the reasons for the others."""
    refused = Counter()
    found = []
    for seed in seeds:
        with silence():
            made, lengths = program_of(seed)
            try:
                wanted = [array(y) for y in made.function(mg)(*made.leaves(mg, lengths))]
                if any(y is None for y in wanted):
                    continue
                found.append((seed, made, [*map(np.asarray, made.arrays(lengths))], model_of(made, lengths), wanted))
            except MinigradError as reason:
                refused[str(reason).split(":")[0][-60:]] += 1
    return found, refused


def differences(seeds):
    """Descriptions of the differences, and the number of programs that were compared."""
    found, refused = trials(seeds)
    texts = []
    given = answers([(model, xs) for _, _, xs, model, _ in found])
    for (seed, made, xs, model, wanted), engines in zip(found, given, strict=True):
        for name, wrap in (("loaded", lambda f: f), ("loaded, traced", mg.function)):
            with silence():
                try:
                    engines[name] = run_loaded(model, xs, wrap)
                except GraphError as reason:
                    refused[str(reason)[:60]] += 1
                except Exception as error:
                    engines[name] = repr(error)
        texts += [
            f"seed {seed}: {who} gives {text}\n{made.source}"
            for who, ys in engines.items()
            if (text := other(wanted, ys))
        ]
    return texts, len(found), refused


def other(wanted, ys):
    """How a run differs; empty if it does not."""
    if isinstance(ys, str):
        return ys
    try:
        return same(wanted, ys, "", 1e3) or ""
    except Different as difference:
        return str(difference)


@pytest.mark.share(2 if PROGRAMS == BATCH else 1)
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_a_program_is_the_same_by_way_of_a_file(first):
    start = 0 if PROGRAMS > BATCH else int.from_bytes(os.urandom(2), "little")
    texts, compared, _ = differences(range(start + first, start + first + BATCH))

    assert not texts, "\n\n".join(texts)
    assert compared > BATCH // 4


if __name__ == "__main__":
    n, start = (*map(int, sys.argv[1:]), 0)[:2]
    total, why = 0, Counter()
    for at in range(start, start + n, BATCH):
        texts, compared, refused = differences(range(at, min(at + BATCH, start + n)))
        total, why = total + compared, why + refused
        print(*texts, sep="\n\n", flush=True)
    print(total, "compared", why.most_common(12))
