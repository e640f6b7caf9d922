"""The fused loss as one loop in C, through ctypes: the limit of what a compiler can reach.

Glibc's vector functions compute eight exponentials at once if the compiler may reorder sums and ignore infinities.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from ..workloads import A, B, C, Workload
from . import Run

TEXT = f"""
#include <math.h>
#define VALUE float v = x[i], s = 1 / (1 + expf(-({A}f * v + {B}f))), t = tanhf({C}f * v); part += s * t + v * v;

double forward(const float *x, float *gx, long n) {{
    double sum = 0;
    for (long b = 0; b < n; b += 65536) {{
        long end = b + 65536 < n ? b + 65536 : n;
        float part = 0;
        for (long i = b; i < end; i++) {{ VALUE }}
        sum += part;
    }}
    return sum;
}}

double gradient(const float *x, float *gx, long n) {{
    double sum = 0;
    for (long b = 0; b < n; b += 65536) {{
        long end = b + 65536 < n ? b + 65536 : n;
        float part = 0;
        for (long i = b; i < end; i++) {{
            VALUE
            gx[i] = s * ({A}f * (1 - s) * t + {C}f * (1 - t * t)) + 2 * v;
        }}
        sum += part;
    }}
    return sum;
}}
"""
# The options of -ffast-math, one by one: -ffast-math itself would also flush denormal numbers to 0, in the whole
# process from then on.
LOOSE = ["-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-freciprocal-math", "-fno-math-errno"]
ASKED = "-D__FAST_MATH__"  # needed for glibc's vector functions
FLAGS = ["-O3", "-march=native", *LOOSE, "-ffinite-math-only", ASKED, "-shared", "-fPIC"]


class Compiled:
    """The machine's C compiler. Raises NotImplementedError if there is none."""

    def __init__(self) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            raise NotImplementedError("no C compiler, cc, is here")
        with tempfile.TemporaryDirectory() as folder:
            text, library = Path(folder, "fused.c"), Path(folder, "fused.so")
            text.write_text(TEXT, encoding="utf-8")
            subprocess.run([compiler, *FLAGS, "-o", library, text, "-lmvec", "-lm"], check=True)
            self.library = ctypes.CDLL(str(library))

    def large(self, workload: Workload) -> Run:
        if workload.name != "fused":
            raise NotImplementedError(f"no {workload.name} in C")
        x = workload.arrays()[1]["x"]
        gx = np.empty_like(x)
        given = x.ctypes.data_as(ctypes.c_void_p), gx.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(x.size)
        for function in (self.library.forward, self.library.gradient):
            function.restype = ctypes.c_double
        stages = {"forward": lambda: self.library.forward(*given), "gradient": lambda: self.library.gradient(*given)}
        return Run(stages, lambda: (stages["gradient"](), {"x": gx.copy()}))
