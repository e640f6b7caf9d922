"""A C++ compiler, and the cache of what it has built.

ziglang is one that pip installs, without an administrator, on Linux, macOS and Windows; else the system's is tried.
What is built needs no library, so no headers either: to compile takes 0.1 to 0.8 s. It is kept in the user's
cache folder under a name that depends on the text, the flags, the compiler and the processor, and moved there whole: of
two processes that build the same, one wins, and both are right.

Whatever goes wrong on the way (no compiler, one that crashes or never ends, a disk that is full), there is no library
then, and its warning says why, once.
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
MOST = 1 << 28  # bytes that the cache keeps
START = 'extern "C" { int _fltused; int DllMainCRTStartup(void *, unsigned, void *) { return 1; } }\n'  # of a DLL
PROBE = 'extern "C" int works() { return 42; }\n'


class NoCompilerWarning(UserWarning):
    """Native code was asked for, and Python runs, with NumPy where there are arrays."""


def library(text: str, *flags: str) -> ctypes.CDLL | None:
    """The text, compiled with FLAGS and these, and loaded; None where that cannot be."""
    command = compiler()
    try:
        return None if command is None else built(command, text, *flags)
    except (OSError, subprocess.SubprocessError) as error:
        told(f"{' '.join(command or ())} failed: {reason(error)}")
        return None


@cache
def compiler() -> tuple[str, ...] | None:
    """The command of a compiler that works here; None where there is none."""
    for command in candidates():
        try:
            if built(command, PROBE).works() == 42:
                return command
        except (OSError, subprocess.SubprocessError, AttributeError):
            continue
    told("there is no C++ compiler here that works: python -m pip install 'minigrad-course[native]' brings one")
    return None


def candidates() -> list[tuple[str, ...]]:
    """Commands to try: that of ziglang, then the system's."""
    zig = [(sys.executable, "-m", "ziglang", "cc")] if find_spec("ziglang") else []
    if sys.platform == "darwin" and subprocess.run(["xcode-select", "-p"], capture_output=True, check=False).returncode:
        return list(zig)  # there, `cc` would open a window that offers to install one
    return [*zig, *((found,) for name in ("c++", "cc", "clang") if (found := shutil.which(name)))]


def told(why: str) -> None:
    warnings.warn(f"Python runs what was to be native: {why}", NoCompilerWarning, stacklevel=2)


def reason(error: Exception) -> str:
    """The first line of what a compiler said, or what the system did."""
    said = getattr(error, "stderr", None) or str(error)
    lines = (said.decode(errors="replace") if isinstance(said, bytes) else said).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# -- the cache --------------------------------------------------------------------------------------------


def built(command: tuple[str, ...], text: str, *flags: str) -> ctypes.CDLL:
    """The library of a text: that of the cache, if it is whole and can be loaded, or a new one.

    Its name tells its size: to load a library that was cut off would end the process.
    """
    name = key(command, text, *flags)
    for path in folder().glob(f"{name}-*{suffix()}"):
        try:
            if path.stat().st_size == int(path.stem.rpartition("-")[2]):
                return ctypes.CDLL(str(path))
        except OSError:  # it is damaged, or gone
            pass
        path.unlink(missing_ok=True)
    return ctypes.CDLL(str(build(command, text, folder() / name, *flags)))


def build(command: tuple[str, ...], text: str, path: Path, *flags: str) -> Path:
    """Compile a text, and move what comes of it to its place, which this is."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="build", ignore_cleanup_errors=True) as work:
        source, made = Path(work) / "part.cpp", Path(work) / f"{path.name}{suffix()}"
        source.write_text(text + START * (sys.platform == "win32"), "utf-8")
        environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": str(path.parent / "zig"), "ZIG_LOCAL_CACHE_DIR": work}
        line = [*command, *FLAGS, *flags, "-o", str(made), str(source)]
        subprocess.run(
            line, check=True, capture_output=True, timeout=PATIENCE, env=environment, stdin=subprocess.DEVNULL
        )
        place = path.with_name(f"{path.name}-{made.stat().st_size}{suffix()}")
        if not place.exists():  # one that is in use cannot be replaced on Windows
            made.replace(place)
    swept(path.parent)
    return place


def key(command: tuple[str, ...], text: str, *flags: str) -> str:
    """What a library depends on, in short."""
    tool = Path(find_spec("ziglang").origin or "") if "ziglang" in command else Path(command[0])  # type: ignore[union-attr]
    stamp = (str(tool), tool.stat().st_mtime_ns, tool.stat().st_size)
    return blake2s(
        repr((text, (*FLAGS, *flags), stamp, processor(), sys.platform)).encode(), digest_size=12
    ).hexdigest()


@cache
def processor() -> tuple[str, ...]:
    """What this processor can do, as NumPy has found out."""
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    return tuple(name for name, has in features.items() if has)


def suffix() -> str:
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


@cache
def folder() -> Path:
    """Where libraries are kept; where nothing can be written there, a folder that goes with the process."""
    path = Path(os.environ.get("MINIGRAD_CACHE") or user_cache_path("minigrad")) / "native"
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        temporary = Path(tempfile.mkdtemp(prefix="minigrad"))
        register(shutil.rmtree, temporary, ignore_errors=True)
        return temporary


def swept(path: Path) -> None:
    """The oldest go where all would be too much."""
    files = sorted(path.glob(f"*{suffix()}"), key=lambda file: -file.stat().st_mtime)
    size = 0
    for file in files:
        size += file.stat().st_size
        if size > MOST:
            try:
                file.unlink()
            except OSError:  # in use, on Windows
                continue
