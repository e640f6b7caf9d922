"""Find a C++ compiler, and cache the libraries it builds.

pip installs the compiler ziglang without administrator rights, on Linux, macOS and Windows; without it, the system's
compiler is tried. The code needs no library and no headers, and compiles in 0.1 to 0.8 s. A library is stored in the
user's cache folder under a name that depends on the text, the flags, the compiler and the processor. It is moved there
atomically, so two processes that build the same library do not disturb each other.

If anything fails (no compiler, a crash, a timeout, a full disk), there is no library, and one warning says why.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from atexit import register
from functools import cache
from hashlib import blake2s
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_path

FLAGS = (
    *("-x", "c++", "-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"),
    *("-ffp-contract=off", "-fopenmp-simd", "-shared", "-fPIC", "-fno-exceptions", "-fno-rtti", "-w"),
    *("-ffreestanding", "-nostdlib", *(("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ())),
)
PATIENCE = 120  # seconds that a compiler may take
MOST = 1 << 28  # bytes that the cache may hold
START = 'extern "C" { int _fltused; int DllMainCRTStartup(void *, unsigned, void *) { return 1; } }\n'  # for Windows
PROBE = 'extern "C" int works() { return 42; }\n'


class NoCompilerWarning(UserWarning):
    """Native code was requested, but Python and NumPy run instead."""


def library(text: str, *flags: str) -> ctypes.CDLL | None:
    """The text compiled with FLAGS and `flags`, and loaded; None if that fails."""
    command = compiler()
    try:
        return None if command is None else load_library(command, text, *flags)
    except (OSError, subprocess.SubprocessError) as error:
        warn_no_compiler(f"{' '.join(command or ())} failed: {reason(error)}")
        return None


@cache
def compiler(quietly: bool = False) -> tuple[str, ...] | None:
    """The command of a compiler that works; None if there is none, with one warning unless `quietly`."""
    if not quietly and compiler(quietly=True) is None:
        warn_no_compiler(
            "there is no working C++ compiler: python3 start.py add native installs one, or python -m pip install "
            "'minigrad-course[native]'"
        )
    if not quietly:
        return compiler(quietly=True)
    for command in candidates():
        try:
            if load_library(command, PROBE).works() == 42:
                return command
        except (OSError, subprocess.SubprocessError, AttributeError):
            continue
    return None


def candidates() -> list[tuple[str, ...]]:
    """Commands to try: that of ziglang, then the system's."""
    zig = [(sys.executable, "-m", "ziglang", "cc")] if find_spec("ziglang") else []
    if sys.platform == "darwin" and subprocess.run(["xcode-select", "-p"], capture_output=True, check=False).returncode:
        return list(zig)  # on macOS, `cc` would open a window that offers to install a compiler
    return [*zig, *((found,) for name in ("c++", "cc", "clang") if (found := shutil.which(name)))]


def warn_no_compiler(why: str) -> None:
    warnings.warn(f"Python runs instead of native code: {why}", NoCompilerWarning, stacklevel=2)


def reason(error: Exception) -> str:
    """The first line of the compiler's error output, or of the system's error."""
    said = getattr(error, "stderr", None) or str(error)
    lines = (said.decode(errors="replace") if isinstance(said, bytes) else said).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# -- the cache --------------------------------------------------------------------------------------------


def load_library(command: tuple[str, ...], text: str, *flags: str) -> ctypes.CDLL:
    """The library of a text: from the cache, if it is complete and loads, else newly built.

    Its file name contains its size, because loading a truncated library would crash the process.
    """
    name = key(command, text, *flags)
    for path in folder().glob(f"{name}-*{suffix()}"):
        try:
            if path.stat().st_size == int(path.stem.rpartition("-")[2]):
                return ctypes.CDLL(str(path))
        except OSError:  # damaged or deleted
            pass
        path.unlink(missing_ok=True)
    return ctypes.CDLL(str(build(command, text, folder() / name, *flags)))


def build(command: tuple[str, ...], text: str, path: Path, *flags: str) -> Path:
    """Compile a text, move the library next to `path`, and return where it is."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="build", ignore_cleanup_errors=True) as work:
        source, made = Path(work) / "part.cpp", Path(work) / f"{path.name}{suffix()}"
        source.write_text(text + START * (sys.platform == "win32"), "utf-8")
        environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": str(path.parent / "zig"), "ZIG_LOCAL_CACHE_DIR": work}
        line = [*command, *FLAGS, *flags, "-o", str(made), str(source)]
        subprocess.run(
            line, check=True, capture_output=True, timeout=PATIENCE, env=environment, stdin=subprocess.DEVNULL
        )
        place = path.with_name(f"{path.name}-{made.stat().st_size}{suffix()}")
        if not place.exists():  # Windows cannot replace a library in use
            made.replace(place)
    prune_cache(path.parent)
    return place


def key(command: tuple[str, ...], text: str, *flags: str) -> str:
    """A hash of everything a library depends on."""
    tool = Path(find_spec("ziglang").origin or "") if "ziglang" in command else Path(command[0])  # type: ignore[union-attr]
    stamp = (str(tool), tool.stat().st_mtime_ns, tool.stat().st_size)
    all_of_it = repr((text, (*FLAGS, *flags), stamp, processor(), sys.platform))
    return blake2s(all_of_it.encode(), digest_size=12).hexdigest()


@cache
def processor() -> tuple[str, ...]:
    """The features of this processor, as NumPy detected them."""
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    return tuple(name for name, has in features.items() if has)


def suffix() -> str:
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


@cache
def folder() -> Path:
    """The folder of the libraries; if it is not writable, a temporary folder deleted at exit."""
    path = Path(os.environ.get("MINIGRAD_CACHE") or user_cache_path("minigrad")) / "native"
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        temporary = Path(tempfile.mkdtemp(prefix="minigrad"))
        register(shutil.rmtree, temporary, ignore_errors=True)
        return temporary


def prune_cache(path: Path) -> None:
    """Delete the oldest libraries if all together exceed MOST bytes."""
    files = sorted(path.glob(f"*{suffix()}"), key=lambda file: -file.stat().st_mtime)
    size = 0
    for file in files:
        size += file.stat().st_size
        if size > MOST:
            try:
                file.unlink()
            except OSError:  # in use, on Windows
                continue
