"""ln |Γ| where the usual series loses digits: near its zeros at 1 and 2, and near its zeros below 0.

The series for the zeros below 0 need tables. A GPU kernel has no tables and loses digits there, as CUDA's lgamma does.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial, inf

import numpy as np

NEAR_TWO = (  # ln Γ(2 + e) / e for |e| ≤ ½, highest power first: interpolated at Chebyshev nodes, to 2⁻⁵⁴
    6.379047507619774e-08, -1.3412819758517287e-07, 2.0304806751615227e-07, -4.303558760359961e-07,
    9.578663334114758e-07, -2.0449201467015115e-06, 4.374374916915131e-06, -9.438458716242811e-06,
    2.050726741605779e-05, -4.4926351103833334e-05, 9.945750909889392e-05, -0.00022315475074520367,
    0.0005096695248853096, -0.0011927539120010226, 0.002890510330738737, -0.0073855510286681535, 0.02058080842778457,
    -0.06735230105319814, 0.3224670334241132, 0.42278433509846713,
)  # fmt: skip
ZEROS = """
-0.45702473822080062303945414765118 -0.14358088834998005869435878182023 0.2523173532725873986085115173085
-0.039361839740536874234577096375355 0.044705715141402071467202716752792 -8.2181683225935215523681373913697e-3
8.4553594399522776547398771935343e-3 -1.3852944531550972619816537417721e-3 1.3925199191243705575920886280803e-3
-1.9833340732475160698104644417238e-4 1.9849210936230210790258813192015e-4 -2.4800270681959697710103794788677e-5
2.4802904179335845663852833192628e-5 -2.7557148226503463607673921756765e-6 2.755749022531805642576085220244e-6
-2.7557301364660024986741209776248e-7 2.7557337083353164785557920665418e-7 -2.50521068524075443525067731281e-8
2.5052109918476224994244258221317e-8 -2.0876756877775390398839976040957e-9 2.0876757097960809593354888963084e-9
-1.605904383010887394428817556001e-10 1.6059043843534355264246270588231e-10 -1.1470745597377839516606340195789e-11
1.1470745598081609911134301186932e-11 -7.6471637318037872730462931713072e-13 7.6471637318358456787560860204513e-13
-4.7794773323867448795744564928559e-14 4.7794773323880257153019587820714e-14 -2.811457254345498138452925885565e-15
2.8114572543455433879449652810737e-15
"""  # zeros of ln |Γ| minus the nearest integer −n: one at −2, then two at each of −3, −4, … −17, left and right of it


def log_gamma_below_8(xp, z):
    """ln Γ(z), 0 ≤ z < 8, from ln Γ(2 + e) by Γ(z + 1) = z Γ(z). It loses no digits near the zeros at 1 and 2."""
    steps = xp.minimum(xp.rint(z), 8) - 2
    e, factor, y = z - (steps + 2), xp.where(steps < -1, z * (z + 1), xp.where(steps < 0, z, 1)), 0.0
    for k in range(1, 7):
        factor = factor * xp.where(steps >= k, z - k, 1)
    for a in NEAR_TWO:
        y = y * e + a
    return y * e + xp.where(steps < 0, -1, 1) * xp.log(factor)


def near_zeros(xp, polygamma):
    """For each zero −n + δ of ln |Γ|: δ, the rounding error of δ, and the Taylor series of ln |Γ(x) (x + n)|."""
    zeros = [Fraction(d) for d in ZEROS.split()]
    d = np.array([*map(float, zeros)])
    rest = [float(zero - Fraction(float(zero))) for zero in zeros]
    j, n = np.arange(1, 18), (np.arange(len(d)) + 5) // 2
    beyond = np.where(j <= n[:, None], j - d[:, None], inf)  # Γ(x) (x + n) = Γ(1 + d) / Π (d − j)
    series = [(polygamma(k - 1).double(np, 1 + d) / factorial(k - 1) + (beyond**-k).sum(1)) / k for k in range(1, 17)]
    return [xp.asarray(column) for column in (d, rest, *series)]


def log_gamma_near_zeros(xp, x, y, zeros):
    """y, or near a zero of ln |Γ| below 0 a Taylor series: there y, a difference of larger numbers, is inaccurate."""
    if not hasattr(type(x), "take"):  # in a GPU kernel
        return y
    there, beside = (x > -17.5) & (x < -2), x - xp.rint(x)
    if xp is np and not there.any():  # this halves the time
        return y
    row = xp.where(there, xp.maximum((beside > 0) - 2 * xp.rint(x) - 5, 0), 0).astype(np.intp)
    zero, rest, *series = (column.take(row) for column in zeros(xp))
    u, total = beside - zero - rest, 0.0
    for c in reversed(series):
        total = (total + c) * u
    near = there & (xp.abs(u) < 1 / 16) & (u / zero > -0.5)
    return xp.where(near, total - xp.log1p(u / zero), y)
