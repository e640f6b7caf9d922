"""What no file of the repository contains."""

from __future__ import annotations

import subprocess

from miniature import ROOT

# In two pieces, so that this file does not name them either.
REGISTRY_HOSTS = [".".join(host) for host in (
    ("registry", "npmjs"), ("npmjs", "com"), ("pythonhosted", "org"), ("pypi", "org"), ("debian", "org"),
    ("archive.ubuntu", "com"), ("anaconda", "org"), ("anaconda", "com"), ("unpkg", "com"), ("jsdelivr", "net"),
)]  # fmt: skip


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if (ROOT / name).is_file()]


def test_no_file_names_the_host_of_a_package_registry():
    """Packages are fetched by name with pip, uv or npm, which know their registry."""
    texts = {path.relative_to(ROOT): path.read_bytes() for path in tracked_files()}

    assert not [f"{path}: {host}" for path, text in texts.items() for host in REGISTRY_HOSTS if host.encode() in text]
