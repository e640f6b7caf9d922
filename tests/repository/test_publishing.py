"""Publishing, as far as it goes without a network: the workflow is read by its linters, and its commands are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from minigrad import __version__
from tests.support.root import ROOT

pytestmark = pytest.mark.tool

WORKFLOW = ROOT / ".github" / "workflows" / "publish.yml"
JOBS = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]
PROGRAMS = Path(sys.executable).parent


def run(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path} | options.pop("env", {})
    options |= {"env": environment, "encoding": "utf-8"}
    return subprocess.run([*map(str, command)], capture_output=True, check=False, **options)


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=minigrad", "-c", "user.email=minigrad@localhost")
    process = run("git", "-C", folder, *named, *arguments)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of its own, with one commit of the files that are here."""
    names = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in filter(lambda name: (ROOT / name).is_file(), names):
        copy = tmp_path / "repository" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy)
    git(tmp_path, "init", "--quiet", "repository")
    git(tmp_path / "repository", "add", "--force", ".")
    git(tmp_path / "repository", "commit", "--quiet", "--message", "all")
    return tmp_path / "repository"


@pytest.mark.parametrize("linter", [
    ("yamllint", "--strict", "--config-file", ROOT / ".github" / "yamllint.yml", ROOT / ".github"),
    ("check-jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW),
    ("zizmor", "--offline", "--config", ROOT / ".github" / "zizmor.yml", WORKFLOW),
], ids=lambda linter: linter[0])  # fmt: skip
def test_linters_find_nothing_in_the_workflow(linter):
    process = run(*linter)

    assert process.returncode == 0, process.stdout + process.stderr


def test_what_the_workflow_runs_for_a_package_runs_here(repository):
    steps = [step["run"] for step in JOBS["package"]["steps"] if "run" in step]
    assert steps.pop(0) == "python -m pip install '.[publish]'"  # which this environment has

    for step in steps:
        process = run("bash", "-e", "-c", step, cwd=repository, env={"GITHUB_REF_NAME": f"v{__version__}"})
        unreachable = re.search("error sending request|dns error|Failed to fetch", process.stderr)
        if unreachable and not os.environ.get("CI"):
            pytest.skip("the package index cannot be reached")
        assert process.returncode == 0, f"{step}\n{process.stdout}{process.stderr}"

    packages = sorted(path.name for path in (repository / "dist").glob("*.*") if path.name != ".gitignore")
    assert packages == [f"minigrad_course-{__version__}-py3-none-any.whl", f"minigrad_course-{__version__}.tar.gz"]
    assert len((repository / "SHA256SUMS").read_text().splitlines()) == 2


def test_a_tag_of_another_version_is_refused(repository):
    (step,) = (step["run"] for step in JOBS["package"]["steps"] if "GITHUB_REF_NAME" in step.get("run", ""))

    assert run("bash", "-e", "-c", step, cwd=repository, env={"GITHUB_REF_NAME": "v99.0"}).returncode != 0


def test_one_command_raises_the_version_dates_the_changes_and_makes_commit_and_tag(repository):
    named = {"GIT_AUTHOR_NAME": "m", "GIT_AUTHOR_EMAIL": "m@m", "GIT_COMMITTER_NAME": "m", "GIT_COMMITTER_EMAIL": "m@m"}
    process = run("bump-my-version", "bump", "minor", cwd=repository, env=named)

    assert process.returncode == 0, process.stderr
    major, minor = re.match(r"(\d+)\.(\d+)", __version__).groups()
    version = f"{major}.{int(minor) + 1}.0"
    assert f'__version__ = "{version}"' in (repository / "minigrad" / "__init__.py").read_text("utf-8")
    assert run("bump-my-version", "show", "current_version", cwd=repository).stdout.strip() == version
    assert re.search(
        rf"## Unreleased\n\n## {version}, \d{{4}}-\d\d-\d\d\n", (repository / "CHANGELOG.md").read_text("utf-8")
    )
    assert git(repository, "describe", "--tags", "--exact-match") == f"v{version}"
    assert git(repository, "status", "--short") == ""


def test_the_version_is_said_alike_everywhere():
    assert run("bump-my-version", "show", "current_version", cwd=ROOT).stdout.strip() == __version__
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.fixture
def hosted(tmp_path: Path) -> Path:
    process = run(sys.executable, ROOT / "scripts" / "hosted", tmp_path / "hosted")
    assert process.returncode == 0, process.stderr
    return tmp_path / "hosted"


def test_hosted_copies_are_all_notebooks_with_one_cell_more(hosted):
    for folder in ("lessons", "exercises"):
        names = sorted(path.name for path in (ROOT / folder).glob("*.ipynb"))
        assert sorted(path.name for path in (hosted / folder).iterdir()) == names
        for name in names:
            there, here = (nbformat.read(root / folder / name, 4).cells for root in (hosted, ROOT))
            assert there[1:] == here
            assert f"minigrad-course=={__version__}" in there[0].source


def test_hosted_copies_are_not_written_over_what_is_there(hosted):
    process = run(sys.executable, ROOT / "scripts" / "hosted", hosted)

    assert process.returncode == 2
    assert "exists already" in process.stderr


def test_the_first_cell_of_a_hosted_copy_installs_what_the_others_need(hosted, tmp_path):
    wheels, environment = tmp_path / "wheels", tmp_path / "environment"
    assert run("uv", "build", "--quiet", "--wheel", ROOT, "--out-dir", wheels).returncode == 0
    assert run(sys.executable, "-m", "venv", environment).returncode == 0
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    assert run(python, "-m", "pip", "install", "--quiet", "jupyter-client", "ipykernel", "nbclient").returncode == 0
    notebook = hosted / "lessons" / "01_what_a_graph_is.ipynb"
    execute = [python, "-m", "jupyter", "execute", "--timeout=500", notebook]

    process = run(*execute, env={
        "PIP_FIND_LINKS": str(wheels), "PYTHONPATH": "", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    })  # fmt: skip
    assert process.returncode == 0, process.stderr
