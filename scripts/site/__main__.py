"""Write the course as one static folder, for any web server or a zip: the book, and in run/ the course in a browser.

    python scripts/site [--numpy | --pyodide FILE_OR_FOLDER] [--repository OWNER/NAME] OUT

    OUT           a new folder, or one written by this script before; it is replaced as a whole, or left unchanged
    --numpy       fetch NumPy for the browser from where Pyodide publishes it
    --pyodide     FOLDER: a Pyodide distribution with NumPy, instead of --numpy; without either, the browser edition
                  runs scalar code alone, and says so in the list of files, in each notebook and in each cell.
                  FILE: Pyodide's npm package, if npm cannot fetch it; a FOLDER may contain it too
    --repository  the course on GitHub, for links to lessons in Colab and Binder; without it, no links

`python3 start.py site OUT` does the same, after installing the requirements.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this checkout's minigrad, whatever is installed

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # each processor runs a lesson: more threads would wait for each other
MARK = ".minigrad-site"  # in each folder written by this script


def main() -> int:
    parser = argparse.ArgumentParser("site", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    packages = parser.add_mutually_exclusive_group()
    packages.add_argument("--pyodide", type=Path, metavar="FILE_OR_FOLDER")
    packages.add_argument("--numpy", action="store_true")
    parser.add_argument("--repository", type=owner_and_name, metavar="OWNER/NAME")
    options = parser.parse_args()
    out = options.out.resolve()
    if out.exists() and not (out / MARK).is_file():
        print(f"{out} exists, and this script did not write it: name a new folder, or empty it", file=sys.stderr)
        return 2
    import book
    import browser_edition

    if options.numpy:
        options.pyodide = browser_edition.packages.fetch_compiled(browser_edition.packages.published())
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent, ignore_cleanup_errors=True) as folder:
        new, old = Path(folder) / "new", Path(folder) / "old"
        site = book.lessons.Site(options.repository, has_numpy=options.pyodide is not None and options.pyodide.is_dir())
        for part, option in ((book, site), (browser_edition, options.pyodide)):
            start = time.perf_counter()
            part.build(new, option)
            print(f"{part.__name__:16} {time.perf_counter() - start:6.1f} s", flush=True)
        (new / MARK).touch()
        if out.exists():
            out.replace(old)
        new.replace(out)
        shutil.rmtree(old, ignore_errors=True)
    files = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
    print(f"{out}: {len(files)} files, {sum(files) / 1e6:.1f} MB")
    return 0


def owner_and_name(text: str) -> str:
    if re.fullmatch(r"[\w.-]+/[\w.-]+", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not OWNER/NAME, as in github.com/OWNER/NAME")
    return text


if __name__ == "__main__":
    sys.exit(main())
