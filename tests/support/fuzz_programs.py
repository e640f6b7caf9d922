"""Programs at random, the same text for PyTorch and for minigrad by run, traced, compiled and by session.

A program is the source of one function: views, edits in place, mixed dtypes, broadcasting, arrays of no axes and of no
elements, products, branches, no_grad and detach, gradients within. Its arrays stand on both sides of every size at
which minigrad does another thing. `python tests/support/fuzz_programs.py 20000` runs so many of them and prints those
that differ, each shortened to the lines that it takes.
"""

import argparse
import collections
import itertools
import linecache
import random
import re
import sys
import time
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import minigrad as mg
from minigrad.engine.base.errors import MinigradError

try:
    import torch
except ImportError:
    torch = None

SMALL, LARGE = (0, 1, 2, 3, 4, 5), (255, 256, 257, 300, 400)
LONG = (65535, 65537, 131073)  # around the elements of a block, and of two
OPERAND = re.compile(r"(?<=[=(,])([vx]\d+)(?=[,)\[\n])(?!.*:\n)")  # PyTorch's edits may read what they wrote
BLOCK = re.compile(r"(with|for) .*:\n\s*")  # what a line of a program may stand in
MOST = 200_000  # elements of a value
ROOM = 1 << 30  # bytes that a line may take on the way to one

EACH = """
{a}.sin() {a}.tanh() {a}.sigmoid() {a}.relu() {a}.abs() {a}.square() {a}.tanh().exp() ({a}.abs()+1).log() -{a} {a}*2
({a}.abs()+0.1).sqrt() 1/({a}.abs()+1) {a}**2 {a}**3 {a}+1 0.5-{a} {a}.clamp(-0.5,0.7) {a}/3 {a}.exp2().tanh() {a}.cos()
L.nn.functional.softplus({a}) L.nn.functional.gelu({a}) L.nn.functional.leaky_relu({a}) {a}.atan() {a}.erf()
{a}.masked_fill({a}>0.5,0.25) {a}.where({a}>0,{a}*0.5) {a}/{a}.shape[0]
"""
ALONG = """
{a}.softmax(-1) {a}.log_softmax(0) {a}.cumsum(0) {a}.cumsum(-1) {a}.tanh().cumprod(0) {a}.logcumsumexp(0) {a}.amax(-1)
{a}.sum() {a}.sum(0) {a}.sum(-1) {a}.sum(-1,keepdim=True) {a}.mean() {a}.mean(0) {a}.mean(-1,keepdim=True) {a}.norm()
{a}.amin(0) {a}.var(0) {a}.std(-1) {a}.logsumexp(-1) {a}.tanh().prod(-1) {a}.abs().sum(0,keepdim=True) {a}.max()
L.nn.functional.layer_norm({a},{a}.shape[-1:]) L.nn.functional.normalize({a},dim=-1) L.einsum("...i->...",{a})
"""
ONE = """
{a}.max(0).values {a}.sort(0).values {a}.argmax(0) {a}.topk(1)[0] {a}.median() {a}.roll(1,0) {a}.tril() {a}.flip(0)
{a}.clone() {a}.detach() {a}.data {a}.unsqueeze(0).contiguous() {a}.float() {a}.double() {a}.long() {a}.bool() {a}>0.1
{a}.repeat(2,1) L.cat([{a},{a}]) L.stack([{a},{a}],-1) L.ones_like({a}) L.zeros_like({a}) {a}.new_zeros(3)
{a}.round() {a}.trace() L.nn.functional.pad({a},(1,0)) {a}.index_select(0,L.tensor([0])) {a}[[0,0]] {a}[{a}>0]
{a}.diff(dim=0) {a}.repeat_interleave(2,0) {a}.gather(0,L.zeros_like({a}).long()) {a}.to(L.float32)
"""
VIEWS = """
{a}[1:] {a}[:1] {a}[::2] {a}[0] {a}[-1] {a}[...,0] {a}[...,1:] {a}[None] {a}[:,None] {a}.T {a}.mT {a}.t()
{a}.reshape(-1) {a}.unsqueeze(0) {a}.unsqueeze(-1) {a}.squeeze() {a}.squeeze(0) {a}.flatten() {a}.view(-1)
{a}.transpose(0,1) {a}.diagonal() {a}.narrow(0,0,1) {a}.select(0,0) {a}.expand(2,*{a}.shape) {a}.chunk(2)[0]
{a}.split(1)[0] {a}.unbind()[0] {a}.movedim(0,-1) {a}.view_as({a}) {a}.unfold(0,2,1) {a}[:9] {a}[1:-1]
{a}.expand_as({a}) {a}.permute(*range({a}.ndim)) {a}[:,0] {a}[:,:2]
"""
BOTH = """
{a}+{b} {a}-{b} {a}*{b} {a}/({b}.abs()+1) L.maximum({a},{b}) L.minimum({a},{b}) L.where({b}>0,{a},{b})
L.atan2({a},{b}.abs()+1) {a}.sigmoid()*{b} L.hypot({a},{b}.abs()+1) ({a}.abs()+1)**{b}.tanh() L.lerp({a},{b},0.3)
{a}.where({b}>0.2,{b}*2) L.addcmul({a},{b},{b}) {a}*{b}.exp2().tanh() {b}.tanh()*{a}+{b} {a}.logaddexp({b})
{a}-{b}.mean(0)
"""
TWO = """
{a}@{b} {a}@{b}.mT {a}.mT@{b} L.nn.functional.linear({a},{b}) L.cat([{a},{b}]) L.stack([{a},{b}]) {a}<{b}
L.outer({a},{b}) ({a}.tanh()@{b}).sigmoid() {a}*{b}.sum(-1,keepdim=True) {a}[{b}>0] L.dot({a},{b})
L.bmm({a},{b}) {a}@{b}.tanh() L.nn.functional.mse_loss({a},{b})
"""
EDITS = """
{a}.mul_(0.5) {a}.add_(1) {a}.sub_({b}) {a}.add_({b}) {a}.mul_({b}) {a}.tanh_() {a}.sin_() {a}.relu_()
{a}.clamp_(-0.5,0.5) {a}.zero_() {a}.fill_(0.3) {a}.copy_({b}) {a}[0]={b} {a}[1:]=0.5 {a}[0]*=2 {a}[...,0]+=1
{a}[::2]={b} {a}+={b} {a}*=2 {a}[:1]-={b} {a}[1:].mul_(3) {a}[0].sin_() {a}.masked_fill_({a}>0.3,0.1) {a}[{a}>0]=0.2
{a}.T.add_(1) {a}.reshape(-1)[:1].mul_(2) {a}.add_({b},alpha=0.5) {a}.div_(2) {a}.neg_() {a}.exp2_() {a}.abs_()
{a}.index_add_(0,L.tensor([0]),{b}[:1]) {a}.sigmoid_() {a}.lerp_({b},0.2) {a}.addcmul_({b},{b})
{a}.unsqueeze(0).mul_(2) {a}.detach().mul_(0.5) {a}.data.mul_({b}) {a}.detach()[0].add_(1)
"""
BLOCKS = (
    "with L.no_grad():\n        {edit}", "with L.no_grad():\n        {v} = {a} * 2",
    "with L.no_grad():\n        {v} = {a}[1:]",
    "if {c}.sum() > 0:\n        {v} = {a}\n    else:\n        {v} = {b} * 2", "{v} = {a} if {c}.mean() > 0 else {b}",
    "if {c}.sum() > 0:\n        {edit}", "{v} = {a}\n    for _ in range(2):\n        {v} = {v}.sin() + {b}",
    "{v}, = L.autograd.grad(({a} * 0.7).cos().sum(), [{x}], create_graph=True, materialize_grads=True)",
    "{v}, = L.autograd.grad({a}.sum(), [{x}], create_graph=True, materialize_grads=True)",
    "{v}, = L.autograd.grad({a}.tanh().sum(), [{b}], create_graph=True, materialize_grads=True)",
    "{v} = L.utils.checkpoint.checkpoint(lambda t: t.sin() * t, {a}, use_reentrant=False)",
)  # fmt: skip
TABLES = {
    "each": EACH.split(), "along": ALONG.split(), "one": ONE.split(), "view": VIEWS.split(), "both": BOTH.split(),
    "two": TWO.split(), "edit": EDITS.split(), "block": BLOCKS,
}  # fmt: skip
LIKELY = {"each": 4, "along": 3, "one": 3, "view": 6, "both": 5, "two": 4, "edit": 6, "block": 3}
LOOPS = {"each": 4, "along": 1, "both": 5, "two": 2, "view": 0.3, "edit": 0.3}  # what is fused, and cut into blocks


@dataclass(frozen=True)
class Program:
    """Inputs (shape, dtype, whether it requires a gradient), the lines of the body, the names that are returned.

    tail    "": no more; "grad": gradients within, and theirs without; "backward": .grad of inputs and retained values
    """

    inputs: tuple
    lines: tuple
    results: tuple
    tail: str = ""

    @property
    def source(self):
        xs = [f"x{i}" for i in range(len(self.inputs))]
        asked = [f"x{i}" for i, (_, _, gradient) in enumerate(self.inputs) if gradient]
        body, results = [*self.lines], [*self.results]
        loss = " + ".join(f"({y} * 0.7).sin().sum()" for y in results)
        if self.tail == "grad":
            body += [f"g = L.autograd.grad({loss}, [{', '.join(asked)}], create_graph=True, materialize_grads=True)"]
            results += ["*g"]
        elif self.tail == "backward":
            kept = [y for y in results if y[0] == "v" and not self.edits(y)]  # what of those: docs/differences.md
            body += [*(f"{y}.retain_grad()" for y in kept), f"({loss}).backward()"]
            results += [f"{y}.grad" for y in (*asked, *kept)]
        return "\n    ".join([f"def f({', '.join(xs)}):", *body, f"return {', '.join(results)},"]) + "\n"

    def edits(self, name):
        """Whether a line edits the value of that name in place."""
        return any(
            re.match(rf"(with L.no_grad\(\):\s+)?{name}(\[.*\] ?[-+*]?= ?|\.\w+_\(| [-+*/]= )", text)
            for text in self.lines
        )

    def function(self, library):
        """f, with L for the library; its source is where AutoGraph looks for it.

        For PyTorch, operands are copied, and `grad_fn` is read before `retain_grad`: docs/differences.md says why.
        """
        source = self.source
        if library is not mg:
            source = OPERAND.sub(
                r"\1.clone()", re.sub(r"( +)(\w+)\.retain_grad", r"\1\2.grad_fn\n\1\2.retain_grad", source)
            )
        name = f"<program {hash(self.source)}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        names = {"L": library}
        exec(compile(source, name, "exec"), names)
        return names["f"]

    def arrays(self, lengths=None):
        """Numbers for the inputs; where `lengths` is given, (old, new) of the first axis."""
        rng = np.random.default_rng(len(self.inputs))
        for shape, dtype, _ in self.inputs:
            if lengths and shape and shape[0] == lengths[0]:
                shape = (lengths[1], *shape[1:])
            x = rng.normal(size=shape) * 1.3
            yield (x * 3 if dtype == "i8" else x > 0 if dtype == "?" else x).astype(dtype)

    def leaves(self, library, lengths=None):
        learns = [gradient for _, _, gradient in self.inputs]
        return [library.tensor(a, requires_grad=each) for a, each in zip(self.arrays(lengths), learns)]


def program(r):
    """A program at random; r is a random.Random, or what hypothesis has for one and shortens."""
    n, m = (r.choice(LARGE if size else SMALL[1:]) for size in [r.random() < 0.15] * 2)
    if r.random() < 0.1:
        n = 0
    shapes = [(n, m), (n, m), (m,), (n,), (n, 1), (1, m), (), (m, n), (2, n, m), (1,)]
    likely = LIKELY
    if n in LARGE and r.random() < 0.6:
        m = n if r.random() < 0.5 else m  # a row is as long as a column: one may lie in the other's memory
        likely, shapes = LOOPS, [(n, m), (m,), (m,), (n, m), (1, m), (n, 1), ()]
    elif n in LARGE and r.random() < 0.5:
        n = r.choice(LONG)
        shapes = [(n,), (n,), (n, 1), (1,), (), (n, 2), (2,)]
    dtypes = ["f8"] * 8 + ["f4", "i8", "?"]
    inputs = tuple(
        (shapes[0] if i == 0 else r.choice(shapes), r.choice(dtypes) if i else "f8", r.random() < 0.8)
        for i in range(r.randint(1, 3))
    )
    learns = r.random() < (0.4 if likely is LOOPS else 0.8)  # without gradients memory is used again sooner
    inputs = tuple((shape, dtype, gradient and learns and dtype[0] == "f") for shape, dtype, gradient in inputs)
    made = Program(inputs, (), ())
    names = {"L": mg} | {f"x{i}": x for i, x in enumerate(made.leaves(mg))}
    known, lines = [f"x{i}" for i in range(len(inputs))], []
    for _ in range(r.randint(1, 9) + 3 * (likely is LOOPS)):
        kind = r.choices([*likely], [*likely.values()])[0]
        drawn = {k: known[-1 - int(len(known) * r.random() ** (1 if likely is LOOPS else 2))] for k in "abc"}
        drawn |= {"v": f"v{len(lines)}", "x": f"x{r.randrange(len(inputs))}"}
        drawn["edit"] = r.choice(TABLES["edit"]).format_map(drawn)
        line = r.choice(TABLES[kind]).format_map(drawn)
        v = drawn["v"]
        makes = kind in ("one", "view", "two") or "{v}" in line or f"{v} =" in line or f"{v}, =" in line
        if kind not in ("edit", "block"):
            line = f"{drawn['v']} = {line}"
        tried = dict(names)
        try:
            with silence(), bounded():
                exec(line.replace("\n    ", "\n"), tried)
        except Exception:
            if kind in ("edit", "block"):
                break  # an edit may have been made in part
            continue
        if not makes:
            if not all(is_tame(tried[k]) for k in known):
                break
            lines.append(line)
            continue
        if is_tame(tried.get(drawn["v"])):
            # a squeeze that changes nothing returns a new tensor in PyTorch, with its own gradients; here x itself
            known += [] if kind != "block" and any(tried[v] is names[k] for k in known) else [v]
            names = tried
            lines.append(line)
    results = [k for k in known if names[k].dtype.kind == "f"][-r.randint(1, 3) :]
    tail = r.choice(["", "", "grad", "backward"]) if any(gradient for *_, gradient in inputs) else ""
    return replace(made, lines=tuple(lines), results=tuple(results), tail=tail)


def is_tame(y):
    """A tensor neither huge nor with numbers that rounding makes another thing of."""
    if not isinstance(y, mg.Tensor) or y.numel() > MOST:
        return False
    a = y.detach().numpy()
    return bool(a.dtype.kind != "f" or (np.isfinite(a).all() and (np.abs(a) < 300).all()))


# -- runs -------------------------------------------------------------------------------------------------


def array(y):
    return None if y is None else np.array(y.detach().numpy())


class Values(list):
    """What a run gives; `edited` of them, the last, are gradients towards arguments that the call edited."""

    edited = 0


def run(made, library, wrap=None, lengths=None):
    """Results, the arguments afterwards, and the gradients of what can be differentiated.

    wrap    what makes f another function, from which no gradients towards arguments that it edits are to be had
    """
    f, xs = made.function(library), made.leaves(library, lengths)
    asked = [x for x in xs if x.requires_grad]
    ys = f(*xs) if wrap is None else wrap(f)(*xs)
    values = Values(array(y) for y in (*ys, *xs))
    edited = [x for x in xs if x.requires_grad and not any(x is y for y in asked)] if wrap is None else []
    loss = sum((y * 0.9).cos().sum() for y in ys if y is not None and y.requires_grad)
    if asked + edited and made.tail != "backward":
        asked, values.edited = asked + edited, len(edited)
        grads = [None] * len(asked) if isinstance(loss, int) else library.autograd.grad(loss, asked, allow_unused=True)
        values += [np.zeros(tuple(x.shape)) if g is None else array(g) for x, g in zip(asked, grads)]
    return values


def session(made, lengths=None, unknown=None):
    """By a graph that is built first; `unknown` is the length of first axes that a run brings."""
    with mg.Graph().as_default() as graph:
        xs = [
            mg.placeholder(
                dtype, (None, *shape[1:]) if unknown is not None and shape and shape[0] == unknown else shape
            )
            for shape, dtype, _ in made.inputs
        ]
        ys = made.function(mg)(*xs)
        asked = [x for x, (_, _, gradient) in zip(xs, made.inputs) if gradient]
        loss = sum((y * 0.9).cos().sum() for y in ys)
        grads = mg.gradients(loss, asked) if asked else []
        fetched = [y for y in (*ys, *grads) if y is not None]
    with mg.Session(graph) as running:
        found = iter(running.run(fetched, dict(zip(xs, made.arrays(lengths)))))
    values = [None if y is None else np.asarray(next(found)) for y in ys]
    zeros = [np.zeros(a.shape) for a, (_, _, gradient) in zip(made.arrays(lengths), made.inputs) if gradient]
    return values, [z if g is None else np.asarray(next(found)) for g, z in zip(grads, zeros)]


@contextmanager
def silence():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def bounded():
    """A block that has so much more memory: of (n,) and (n, 1) n² numbers are made, which a system may only promise."""
    if sys.platform != "linux":
        yield
        return
    import resource

    before = soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class Different(AssertionError):
    """Two runs of one program that do not agree."""


def same(expected, found, who, loose):
    if len(expected) != len(found):
        raise Different(f"{who}: {len(found)} results for {len(expected)}")
    for i, (a, b) in enumerate(zip(expected, found)):
        if a is None or b is None:
            if (a is None) != (b is None) and np.any(a if b is None else b):
                raise Different(f"{who}: result {i} is None for one of them")
            continue
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            raise Different(f"{who}: result {i} is {b.dtype}{list(b.shape)} for {a.dtype}{list(a.shape)}")
        if a.dtype.kind != "f":
            if np.count_nonzero(a != b) > a.size * 1e-4 * loose:
                raise Different(f"{who}: result {i}: {b[a != b][0]} for {a[a != b][0]}")
            continue
        if not np.isfinite(a).all():
            continue
        half = min(a.dtype.itemsize, b.dtype.itemsize) == 2  # what NumPy makes of a bool
        a, b = a.astype("f8"), b.astype("f8")
        scale = max(1.0, np.abs(a).max(initial=0.0))
        off = ~(np.abs(a - b) <= (1e-2 if half else 3e-3 if loose else 1e-7) * scale)
        if off.sum() > a.size * 1e-4 * loose:
            found, wanted = b[off].ravel()[0], a[off].ravel()[0]
            raise Different(f"{who}: result {i}: {found} for {wanted}, {off.sum()} of {off.size}")


def attempt(run):
    """The values of a run, or the error that refused it, minigrad's or of the program's own; any other is a crash."""
    try:
        with silence():
            return run()
    except MinigradError as e:
        return e
    except Exception as e:
        if traceback.extract_tb(e.__traceback__)[-1].filename.startswith("<program"):
            return e
        raise


def outside(f):
    """f, which reads its arguments from outside of a trace: the second run of it, from the values of the first."""

    def call(*xs):
        traced, starts = mg.function(lambda: f(*xs)), [x.detach().clone() for x in xs]
        traced()
        for x, start in zip(xs, starts):
            x.detach().copy_(start)
            if not x.is_leaf:
                x.detach_()
        return traced()

    return call


WAYS = ("function", "compiled", "outside", "session", "lengths")


def check(made, counts=None, ways=WAYS):
    """Every way to run the program agrees with the first that may judge it, or Different says which does not."""
    counts = collections.Counter() if counts is None else counts
    # Of small integers PyTorch makes float32, and of booleans NumPy float16.
    loose = any(dtype != "f8" for _, dtype, _ in made.inputs)
    loose = loose or bool(re.search(r"float|long|bool|[<>]|arg", made.source))
    eager = attempt(lambda: run(made, mg))
    if torch is not None:
        try:
            with silence():
                theirs = run(made, torch)
        except Exception as e:
            theirs = e
        if isinstance(theirs, Exception) or isinstance(eager, Exception):
            counts[f"torch {type(theirs).__name__}" if isinstance(theirs, Exception) else "eager refuses alone"] += 1
        else:
            counts["torch"] += 1
            same(theirs, eager, "eager beside PyTorch", loose)
    if isinstance(eager, Exception):
        return
    if made.tail == "backward":
        return  # .grad is filled by a run alone
    wraps = {"function": mg.function, "compiled": lambda f: mg.function(f, jit_compile=True), "outside": outside}
    for who in wraps.keys() & set(ways):
        judged(counts, who, eager[: len(eager) - eager.edited], lambda w=wraps[who]: run(made, mg, w), loose)
    if "session" not in ways:
        return
    sized, n = len(made.inputs), made.inputs[0][0][0] if made.inputs[0][0] else None
    for unknown in [None, n] if n is not None and n <= 5 and "lengths" in ways else [None]:
        for new in [n] if unknown is None else [0, 1, n + 2]:
            lengths = None if unknown is None else (n, new)
            asked = live(made)  # a session computes what is fetched, and nothing else is an error
            wanted = eager if lengths is None or new == n else run_what_is_read(asked, lengths)
            found = attempt(lambda k=lengths, u=unknown: session(made, k, u))
            who = "session" if unknown is None else f"session of unknown lengths, {n} → {new}"
            count = "session" if unknown is None else "lengths"
            if isinstance(found, Exception):
                counts[f"{count} refused"] += 1
                continue
            if isinstance(wanted, Exception) and (is_read_for_shape(asked, wanted) or "need a copy" in str(wanted)):
                continue  # a session's nodes have no layout in memory, and copy where they must
            if isinstance(wanted, Exception):
                raise Different(f"{who}: numbers where by run there is {type(wanted).__name__}: {wanted}")
            counts[count] += 1
            values, grads = found
            ys = len(values)
            same(wanted[:ys], values, who, loose)
            if len(wanted) > ys + sized:
                same(wanted[ys + sized : len(wanted) - wanted.edited], grads, who + ", gradients", loose)


def live(made):
    """The program without lines whose value nobody reads: no result, and no line but edits of that value alone."""
    for line in made.lines:
        name = BLOCK.sub("", line).split(" = ")[0]
        others = [text for text in made.lines if name in re.findall(r"\w+", text) and text is not line]
        edits = all(re.match(rf"{name}\W", BLOCK.sub("", text)) for text in others)
        if not name.isalnum() or name in made.results or not edits:
            continue
        if not others or is_alone(made, name):
            return live(replace(made, lines=tuple(text for text in made.lines if text not in (line, *others))))
    return made


def is_alone(made, name):
    """Whether a value of the program shares its memory with no other."""
    names = {"L": mg} | {f"x{i}": x for i, x in enumerate(made.leaves(mg))}
    with silence():
        exec("\n".join(made.lines).replace("\n    ", "\n"), names)
    tensors = {k: x.detach().numpy() for k, x in names.items() if isinstance(x, mg.Tensor)}
    return not any(k != name and np.may_share_memory(x, tensors[name]) for k, x in tensors.items())


def run_what_is_read(made, lengths):
    """The values by run, without lines that raise an error and that no result reads; or the first of these errors."""
    found = first = attempt(lambda: run(made, mg, lengths=lengths))
    while isinstance(found, Exception) and (line := line_of(made, found)) in made.lines:
        made = replace(made, lines=tuple(text for text in made.lines if text != line))
        found = attempt(lambda p=made: run(p, mg, lengths=lengths))
    return first if isinstance(found, Exception) else found


def line_of(made, error):
    """The line of the program that raised the error."""
    places = [at for at in traceback.extract_tb(error.__traceback__) if at.filename.startswith("<program")]
    return made.source.splitlines()[places[-1].lineno - 1].strip() if places else ""


def is_read_for_shape(made, error):
    """Whether it came of a line whose value nobody reads: its shape, which a graph knows, is enough."""
    line = line_of(made, error)
    name = line.split(" = ")[0]
    text = "\n".join([*made.lines, *made.results]).replace(line, "")
    for_shape = (
        rf"_(like|as)\({name}\)|\b{name}\.new_|, \[{name}\]"  # the last: a gradient towards what the loss does not read
    )
    return name.isalnum() and name not in re.findall(r"\w+", re.sub(for_shape, "", text))


def judged(counts, who, expected, run, loose):
    found = attempt(run)
    counts[f"{who} refused" if isinstance(found, Exception) else who] += 1
    if not isinstance(found, Exception):
        same(expected, found, who, loose)


# -- what differs, shortened --------------------------------------------------------------------------------


def trouble(made, counts=None, ways=WAYS):
    """What is wrong with a program, in a line; None if nothing is."""
    try:
        check(made, counts, ways)
    except Different as e:
        return str(e)
    except Exception as e:
        return f"crash {type(e).__name__}: {e}"
    return None


def shortened(made, ways=WAYS):
    """The program without the lines and results that its trouble, of the same kind, does not need."""
    kind = kind_of(trouble(made, None, ways))

    def still(candidate):
        found = trouble(candidate, None, ways)
        return found is not None and kind_of(found) == kind and "NameError" not in found

    smaller = True
    while smaller:
        smaller = False
        candidates = itertools.chain(
            (replace(made, lines=made.lines[:i] + made.lines[i + 1 :]) for i in reversed(range(len(made.lines)))),
            (replace(made, results=(*made.results[:i], *made.results[i + 1 :])) for i in range(len(made.results))),
            (replace(made, tail="") for _ in [0] if made.tail),
        )
        for candidate in candidates:
            if candidate.results and still(candidate):
                made, smaller = candidate, True
                break
    return made


def kind_of(text):
    return str(text).split(":")[0]


def report(made, ways=WAYS):
    """The shortest program with the same trouble, as source, and what is wrong with it; "" if nothing is."""
    if trouble(made, None, ways) is None:
        return ""
    made = shortened(made, ways)
    text = trouble(made, None, ways)
    inputs = ", ".join(f"{dtype}{list(shape)}{' requires grad' * grad}" for shape, dtype, grad in made.inputs)
    return f"{text}\n# {inputs}\n{made.source}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("programs", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    counts, bad, began = collections.Counter(), 0, time.time()
    for seed in range(options.first, options.first + options.programs):
        made = program(random.Random(seed))
        text = trouble(made, counts)
        if text is not None:
            bad += 1
            print(f"--- seed {seed}: {report(made)}", flush=True)
    print(f"{options.programs} programs, {bad} with a difference, {time.time() - began:.0f} s: {dict(counts)}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
