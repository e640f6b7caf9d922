"""Many elements to one, running totals, order and counts, as functions: `mg.sum(x, 1)` beside `x.sum(1)`."""

from __future__ import annotations

from ..methods import Operand
from ..methods.arguments import hears
from ..tensor.lift import function

sum = function(Operand.sum)
mean = function(Operand.mean)
nansum = function(Operand.nansum)
nanmean = function(Operand.nanmean)
prod = function(Operand.prod)
count_nonzero = function(Operand.count_nonzero)
var = function(Operand.var)
std = function(Operand.std)
var_mean = function(Operand.var_mean)
std_mean = function(Operand.std_mean)
norm = function(Operand.norm)
dist = function(Operand.dist)
cov = function(Operand.cov)
corrcoef = function(Operand.corrcoef)

max = hears(other="dim")(function(Operand.max))
min = hears(other="dim")(function(Operand.min))
amax = function(Operand.amax)
amin = function(Operand.amin)
aminmax = function(Operand.aminmax)
argmax = function(Operand.argmax)
argmin = function(Operand.argmin)
logsumexp = function(Operand.logsumexp)
all = function(Operand.all)
any = function(Operand.any)

sort = function(Operand.sort)
msort = function(Operand.msort)
argsort = function(Operand.argsort)
topk = function(Operand.topk)
kthvalue = function(Operand.kthvalue)
median = function(Operand.median)
quantile = function(Operand.quantile)

cumsum = function(Operand.cumsum)
cumprod = function(Operand.cumprod)
cummax = function(Operand.cummax)
cummin = function(Operand.cummin)
logcumsumexp = function(Operand.logcumsumexp)
trapezoid = hears(y="input")(function(Operand.trapezoid))
trapz = hears(y="input")(function(Operand.trapezoid))
cumulative_trapezoid = hears(y="input")(function(Operand.cumulative_trapezoid))
diff = function(Operand.diff)

unique = function(Operand.unique)
unique_consecutive = function(Operand.unique_consecutive)
bincount = function(Operand.bincount)
histc = function(Operand.histc)
isin = hears(elements="input")(function(Operand.isin))
