"""The command that writes the site: what it refuses, and what it leaves alone."""

from __future__ import annotations

import base64
import importlib
import os
import subprocess
import sys
from hashlib import sha512
from pathlib import Path

import pytest

from tests.support.root import ROOT

pytestmark = pytest.mark.tool

BOOK = """
from types import SimpleNamespace

lessons = SimpleNamespace(Site=lambda repository, has_numpy: repository)

def build(out, repository):
    out.mkdir()
    (out / "index.html").write_text(f"new, of {repository}")
"""
FAILS = f"{BOOK}    raise RuntimeError('a link leads nowhere')\n"
WITHOUT_ONNX = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("onnx", "onnxruntime", "google"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Missing())
from book import reference
made = reference.pages()
print("mg.onnx.load(" in made["api/onnx"], " at 0x" in "".join(made.values()))
"""
EDITION = "def build(out, pyodide): (out / 'run').mkdir()"


def site(tmp_path: Path, *arguments: object, book: str = BOOK) -> subprocess.CompletedProcess[str]:
    """Run the command with parts of our own, for those of the site take a minute."""
    command = tmp_path / "parts" / "__main__.py"
    command.parent.mkdir(exist_ok=True)
    command.write_text((ROOT / "scripts" / "site" / "__main__.py").read_text("utf-8"), "utf-8")
    (command.parent / "book.py").write_text(book, "utf-8")
    (command.parent / "browser_edition.py").write_text(EDITION, "utf-8")
    return subprocess.run(
        [sys.executable, command.parent, *map(str, arguments)], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, check=False, encoding="utf-8",
    )  # fmt: skip


def test_a_site_takes_the_place_of_the_one_before(tmp_path):
    out = tmp_path / "out"
    assert site(tmp_path, out).returncode == 0
    (out / "old.html").touch()

    assert site(tmp_path, "--repository", "owner/name", out).returncode == 0

    assert sorted(path.name for path in out.iterdir()) == [".minigrad-site", "index.html", "run"]
    assert (out / "index.html").read_text() == "new, of owner/name"
    assert [path.name for path in tmp_path.iterdir() if path.name != "parts"] == ["out"]


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")

    refused = site(tmp_path, out)

    assert refused.returncode == 2
    assert refused.stderr == f"{out} exists, and this script did not write it: name a new folder, or empty it\n"
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_a_build_that_fails_leaves_the_site_as_it_was(tmp_path):
    out = tmp_path / "out"
    assert site(tmp_path, out).returncode == 0
    (out / "index.html").write_text("old")

    failed = site(tmp_path, out, book=FAILS)

    assert failed.returncode == 1
    assert "a link leads nowhere" in failed.stderr
    assert (out / "index.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name != "parts"] == ["out"]


@pytest.mark.parametrize("repository", ["name", "owner/name/more", 'owner/na"me'])
def test_a_repository_is_an_owner_and_a_name(tmp_path, repository):
    refused = site(tmp_path, "--repository", repository, tmp_path / "out")

    assert refused.returncode == 2
    assert "is not OWNER/NAME" in refused.stderr


def test_the_reference_is_made_where_onnx_is_not_and_shows_no_address_in_memory():
    """Who publishes has `lite` alone: a mock of onnx, and not of its protobuf, ended the command there."""
    path = os.pathsep.join(map(str, (ROOT / "scripts" / "site", ROOT)))
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT_ONNX], env=os.environ | {"PYTHONPATH": path},
        capture_output=True, check=False, encoding="utf-8",
    )  # fmt: skip

    assert made.stdout == "True False\n", made.stderr


@pytest.fixture
def core(tmp_path, monkeypatch):
    """The module that fetches Pyodide, with an empty cache and no npm."""
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    module = importlib.import_module("browser_edition.pyodide_core")
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path))
    return module


@pytest.mark.skipif(os.name == "nt", reason="the npm of this test is a shell script")
@pytest.mark.parametrize(("npm", "given", "error"), [
    ("", None, "npm is not installed: install Node.js, or .*--pyodide pyodide-"),
    ("echo other > $5/pyodide-VERSION.tgz", None, "6 bytes that are not the npm package"),
    ("echo no network >&2; exit 1", None, "no network\nTry again, or .*--pyodide"),
    ("", "missing.tgz", "--pyodide names .*, which does not exist"),
])  # fmt: skip
def test_without_the_right_package_an_error_says_what_to_do_and_nothing_is_kept(core, tmp_path, npm, given, error):
    if npm:
        (tmp_path / "npm").write_text(f"#!/bin/sh\n{npm.replace('VERSION', core.VERSION)}\n")
        (tmp_path / "npm").chmod(0o755)

    with pytest.raises(RuntimeError, match=error):
        core.archive(given and tmp_path / given)

    assert not core.CACHE.exists()


@pytest.mark.parametrize("name", ["pyodide.tgz", "folder"])
def test_a_package_that_the_option_names_is_used_without_npm(core, tmp_path, monkeypatch, name):
    monkeypatch.setattr(core, "INTEGRITY", base64.b64encode(sha512(b"package").digest()).decode())
    (tmp_path / "folder").mkdir()
    given = tmp_path / name
    (given / core.ARCHIVE if given.is_dir() else given).write_bytes(b"package")

    assert core.archive(given) == b"package"
