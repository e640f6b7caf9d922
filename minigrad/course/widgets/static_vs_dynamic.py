"""The same function two ways, line by line: the dynamic graph of an eager run, and the static graph of a trace.

On the left, each line that runs adds boxes with their values at once. On the right, the same lines are traced: their
boxes are outlined and have no values. Then the graph runs, and the values appear. The code stands between the two, on a
narrow screen above them; each box names its line. Stepping through the lines shows a branch that was not taken, a loop
that was unrolled, a print that ran while nothing was computed.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from html import escape
from textwrap import dedent
from traceback import extract_tb
from types import CodeType, ModuleType
from typing import Any

from ...draw.picture import Arrow, Box, Picture
from ...draw.readers import READERS, load_reader, reader_of
from ...draw.static_run import code_of, own_line
from ...draw.svg import STYLE
from ...draw.words import is_number, join_names, pluralize
from ...engine.random import fork_rng
from ...graph.autograph.scopes import from_library
from . import own_runs
from .code import LETTER, LOOKS, code, draw_lines, drawing
from .eager_run import LARGEST, EagerRun, LineRun, draw_half
from .film import Choice, Cut, Film, Panel, Reel, output_area, refuse_large
from .recording import PrintEvent, PrintRecorder, TooLong, format_value, truncate_text
from .widget import HERE, javascript

MOST_MOMENTS = 100  # the most lines to show of an eager run that could not be traced
PHASES = ("Python runs", "the graph runs")
UNROLLED = "The loop is unrolled: the graph gets what each turn builds"
TAKEN = "Only the branch that Python takes now will be in the graph"
NOT_IN_GRAPH = {"for": UNROLLED, "while": UNROLLED, "if": TAKEN, "elif": TAKEN}  # statement → why it adds nothing
UNMARKED = re.compile("^(?=.)(?!while (tracing|running): )", re.MULTILINE)  # the beginning of a line
FRAMEWORKS = {"torch": "pytorch", "jax": "jax", "tf": "tensorflow"}  # name → its reader
NEEDS_VALUE = re.compile("NoValue|GuardOnDataDependent|Concretization|Tracer.*Conversion")  # ours, PyTorch's and JAX's
EAGER = "Eager: built again in every call"
STRIPS = (HERE / "static_vs_dynamic.svg").read_text("utf-8").split("\n\n")  # calls, and runs of one graph
COUNTED = "How often Python runs each line"
GRAPH_RUN = "graph run, after tracing"
HEADS = f'<div class="mg-heads"><span>eager call</span><span>{GRAPH_RUN}</span></div>'
LINE = re.compile(r'(<span data-id="line (\d+)"[^>]*>)')
COUNTS = r"\1" + "".join(rf'<i class="mg-ran" data-id="{key} \2" aria-hidden="true"></i>' for key in ("ran", "idle"))


class StaticVsDynamic(Film):
    """A function run eagerly, next to the same function as a static graph.

    f            a Python function of tensors: of minigrad, PyTorch, JAX or TensorFlow; or a PyTorch module
    args         its arguments
    cases        instead of args, several tuples of arguments, for the reader to choose from
    framework    "torch", "jax" or "tf"; needed if neither f nor its arguments show which

    PyTorch is traced by torch.export, JAX by jax.jit, and TensorFlow by tf.function.

    The film shows what f prints and raises, and why it cannot be traced. After 2000 lines, f is stopped.
    Raises ValueError for a graph of more than 60 boxes, and for a function whose source cannot be read.
    """

    _esm = javascript("stepper", "film", "ties", "static_vs_dynamic")
    sheets = (*Film.sheets, "ties", "static_vs_dynamic")
    looks = STYLE + LOOKS

    def __init__(
        self, f: Callable[..., Any], *args: Any, cases: Sequence[tuple[Any, ...]] | None = None, framework: str = ""
    ):
        cases = [args] if cases is None else list(cases)
        if not cases or not all(isinstance(case, tuple | list) for case in cases):
            raise TypeError(f"cases must be tuples of arguments, one or more, such as [(x,), (y,)]; got {cases!r}")
        runs, given = framework_of(f, cases, framework), f
        f = python_function(f)
        traces = runs.Traces(given)
        reels = [reel(f, runs, traces, case) for case in cases]
        inputs = Choice("input", [join_names([format_value(x, runs) for x in case]) for case in cases])
        choices = [inputs] if len(cases) > 1 else []
        super().__init__(f"{f.__name__}, eager and as a static graph", PHASES, reels, choices)

    @property
    def svg(self) -> str:
        last = {id: words for step in self.steps for id, words in step.get("text", {}).items()}
        written, *halves = ((panel["title"], panel["html"]) for panel in self.film["panels"])
        left, right = ((title, drawing(html)) for title, html in halves)
        return self.place_in_rows([left, (written[0], draw_counts(written[1], last)), right])


def draw_counts(html: str, last: Mapping[str, str]) -> str:
    """The lines of code as a picture, between how often each runs in an eager call and in a run of the graph."""
    lines = re.findall(r'<span data-id="line (\d+)".*?</i><i .*?</i>(.*?)</span>', html)
    wide = 44 + LETTER * (max(len(re.sub("<.*?>|&.*?;", "", line)) for _, line in lines) + 7)
    end = f'<i class="mg-ran" x="{wide:g}" text-anchor="end">'
    idle = any(key.startswith("idle") for key in last)
    drawn = [f'<i class="mg-dim">eager call</i>{end.replace("ran", "dim")}{GRAPH_RUN if idle else ""}</i>']
    for n, (key, line) in enumerate(lines, 1):
        ran, never = (last.get(f"{each} {key}", "") for each in ("ran", "idle"))
        start = f'<i class="mg-ran" x="34" text-anchor="end">{ran}</i><i class="mg-dim" x="44">{n:2} </i>'
        drawn.append(f"{start}{line}{end.replace('ran', 'name')}{never}</i>")
    return draw_lines(drawn, wide)


def framework_of(f: Callable[..., Any], cases: Sequence[Sequence[Any]], name: str) -> ModuleType:
    """The framework of this name; if "", that of f or of its arguments, else minigrad."""
    if name and name not in FRAMEWORKS:
        raise ValueError(f"framework must be one of {', '.join(map(repr, FRAMEWORKS))}, got {name!r}")
    reader = reader_of(f, [*cases])
    found = FRAMEWORKS.get(name) or (reader.__name__.rpartition(".")[2] if reader else "")
    if found and found not in FRAMEWORKS.values():
        raise TypeError(f"StaticVsDynamic takes functions of PyTorch, JAX and TensorFlow, not of {found}")
    return load_reader(f"{found}_runs") if found else own_runs


def python_function(f: Any) -> Callable[..., Any]:
    """The function whose lines are shown: that inside a traced function, or the forward of a module."""
    for name in ("python_function", "forward", "__wrapped__"):
        f = f if inspect.isfunction(f) or inspect.ismethod(f) else getattr(f, name, f)
    if not hasattr(f, "__code__"):
        raise TypeError(f"StaticVsDynamic takes a Python function, got {f!r}")
    if from_library(code_of(f).co_filename):
        raise ValueError(f"{f.__qualname__} is code of a library: take a function of your own that calls it")
    return f


def reel(f: Callable[..., Any], framework: ModuleType, traces: Any, args: Sequence[Any]) -> Reel:
    """The film of one call."""
    source = lines_of(f)
    with fork_rng():  # so that the graph draws the same random numbers
        left = EagerRun(f, args, framework)
    written = Panel(COUNTED, HEADS + LINE.sub(COUNTS, code(list(source.values()), min(source))))
    printed = output_area("left says") if left.moments and left.moments[-1].printed else ""
    panels = [written, Panel(EAGER, STRIPS[0] + left.svg + printed)]
    error, none = left.recording.error, framework.title.partition(":")[0]
    if error is not None:
        what = str(error) if isinstance(error, TooLong) else f"it raised {type(error).__name__}: {error}"
        panels.append(Panel(none, "<p>There is none: the function does not reach its end.</p>"))
        return Reel(panels, list(eager_alone(source, left, f"Here it ends: {what}. So it is not traced.")))
    try:
        right = AsGraph(traces, args, left, code_of(f))
    except TraceError as why:
        panels.append(Panel(none, draw_stop(f, left, why.line)))
        end = f"Run eagerly, its result is {left.result}. It cannot be traced: {str(why).rstrip('.')}."
        return Reel(panels, list(eager_alone(source, left, end, why.line)))
    links: dict[str, list[str]] = {}
    lines = {**left.line, **{f"r{x}": n for x, n in right.line.items()}}
    for n in source:
        if boxes := [box for box, line in lines.items() if line == n]:
            links |= {f"line {n}": boxes} | {box: [f"line {n}", *boxes] for box in boxes}
    panels.append(Panel(framework.title, STRIPS[1] + right.svg + (output_area("right says") if printed else "")))
    return Reel(panels, list(cuts(f, source, left, right)), links)


def lines_of(f: Callable[..., Any]) -> dict[int, str]:
    """Line number → line of a function's source. Raises ValueError if the source cannot be read."""
    try:
        lines, first = inspect.getsourcelines(f)
    except (OSError, TypeError) as error:
        raise ValueError(f"the source of {f!r} cannot be read, so its lines cannot be shown: {error}") from None
    return dict(enumerate(dedent("".join(lines)).splitlines(), first))


# -- the cuts ----------------------------------------------------------------------------------------------


def cuts(f: Callable[..., Any], source: dict[int, str], left: EagerRun, right: AsGraph) -> Iterator[Cut]:
    """All cuts of the film, in order."""
    yield from call_cuts(f, left, right)
    printed = yield from build_cuts(source, left, right)
    yield built_cut(code_of(f), left, right)
    yield from run_cuts(right, printed)
    yield Cut(PHASES[1], compare_results(left.result, right.result) + describe_difference(f.__name__, left, right))


def call_cuts(f: Callable[..., Any], left: EagerRun, right: AsGraph) -> Iterator[Cut]:
    """The opening cut: nothing has run, and there is a graph only if an earlier call traced it."""
    unknown = {f"r{box.id}": "?" for box in right.picture.boxes if box.kind != "constant"}
    outlined = [f"r{box.id}" for box in right.picture.boxes if box.kind == "op"]
    names = right.parts(right.inputs())
    hidden = [*to_come(left), *(part for part in to_be_built(right) if part not in names)]
    start = "eagerly its arguments have values; in the static graph they are inputs without a value, shown as ?"
    start += f". This is trace {right.count}: no earlier graph is for such arguments" * (right.count > 1)
    again = "eagerly it runs again; the static graph is there already, since a call of the same kind built it"
    say = f"{f.__name__} is called: {start if right.is_new else again}."
    taken = [*right.taken.values()]
    on = {"hidden": [*hidden, *right.unbuilt], "outlined": outlined}
    yield Cut(PHASES[0], say, text=unknown, on=on, off={"taken": taken})


def build_cuts(source: dict[int, str], left: EagerRun, right: AsGraph) -> Generator[Cut, None, str]:
    """A cut for each line that runs, with its effects on both sides. Returns all output of the trace."""
    printed, ran, where = "", Counter[int](), "traced" if right.is_new else "in the graph"
    for moment in left.moments:
        ran[moment.line] += 1
        parts, text = right.build_line(moment)
        near = [] if parts else [f"r{box}" for box in right.boxes_there(moment)]
        printed = UNMARKED.sub("while tracing: ", printed + text)
        already = right.explain_no_box(moment)
        word = re.match(r"\s*(if|elif|for|while)\b", source.get(moment.line, ""))
        if re.match(r"\s*return\b", source.get(moment.line, "")):
            near += left.outputs + [f"r{right.picture.output.id}"] * bool(right.picture.boxes)
        said = ["left says"] * moment.says + ["right says"] * bool(text)
        already += f". {NOT_IN_GRAPH[word[1]]}" if word and right.is_new and already == "adds nothing" else ""
        yield Cut(
            PHASES[0],
            sentence(source.get(moment.line, ""), moment, parts, text, already, where),
            text={"left says": moment.printed, "right says": truncate_text(printed)} | tally(ran, moment.line),
            off={"hidden": [*moment.parts, *parts]},
            hot={"hot": [f"line {moment.line}", *moment.parts, *parts, *said], "near": near},
        )
    return printed


def built_cut(code: CodeType, left: EagerRun, right: AsGraph) -> Cut:
    """The cut after the last line."""
    boxes = pluralize(sum(box.kind == "op" for box in left.boxes.values()), "op", "ops")
    nodes = pluralize(sum(box.kind == "op" for box in right.picture.boxes), "op is", "ops are")
    say = f"The eager run is done: {boxes} ran. The static graph is built: {nodes} in it, and nothing is computed yet."
    say += " What nothing uses is not built." * ("unused" in right.unbuilt.values())
    say += " A view in the result is not built: each call makes it at the end." * ("a view" in right.unbuilt.values())
    other = {n for *_, n in code.co_lines() if n and n > code.co_firstlineno}  # also a branch that was not taken
    never = {f"idle {n}": "0" for n in other | {moment.line for moment in left.moments}}
    return Cut(PHASES[1], say, text=never, off={"hidden": [*to_be_built(right), *right.unbuilt]})


def run_cuts(right: AsGraph, printed: str) -> Iterator[Cut]:
    """The cuts of the run of the graph, node by node.

    printed    the output of the trace
    """
    box, printed_by = right.picture.box, right.run.prints
    known = {f"r{x}": box[x].value for x in right.inputs()}
    yield Cut(PHASES[1], "The graph runs: its inputs are given.", text=known, hot={"hot": [*known]})
    for x in right.run.order:
        text = truncate_text(printed_by.get(x, ""))
        printed = UNMARKED.sub("while running: ", printed + text)
        tells = f" It prints: {text.strip()}" if text else ""
        say = f"{box[x].op} gives {box[x].value}.{tells}" if box[x].value else f"{box[x].op} runs.{tells}"
        texts = {f"r{x}": box[x].value, "right says": truncate_text(printed)}
        on = {"taken": [right.taken[x]]} if x in right.taken else {}
        yield Cut(PHASES[1], say, text=texts, on=on, off={"outlined": [f"r{x}"]}, hot={"hot": right.parts([x])})


def eager_alone(source: dict[int, str], left: EagerRun, end: str, culprit: int = 0) -> Iterator[Cut]:
    """The film of a run without a graph; `end` says why there is none, and `culprit` is the line that prevents it."""
    sign = ["rstop", *(f"rstop{box}" for box in left.given)]
    yield Cut(PHASES[0], "The function is called, and runs eagerly.", on={"hidden": [*to_come(left), *sign]})
    ran = Counter[int]()
    for moment in left.moments[:MOST_MOMENTS]:
        now, sign = (sign, []) if moment.line == culprit else ([], sign)
        say = sentence(source.get(moment.line, ""), moment, (), "", "stops" * bool(now))
        ran[moment.line] += 1
        line, texts = f"line {moment.line}", {"left says": moment.printed} | tally(ran, moment.line)
        parts = [*moment.parts, *now, *["left says"] * moment.says]
        on = {"stopped": [line] * bool(now)}
        yield Cut(PHASES[0], say, text=texts, on=on, off={"hidden": parts}, hot={"hot": [line, *parts]})
    yield Cut(PHASES[0], end, off={"hidden": sign}, hot={"hot": [f"line {culprit}", "rstop"] * (culprit > 0)})


def draw_stop(f: Callable[..., Any], left: EagerRun, line: int) -> str:
    """The inputs, which have no values while tracing, and a stop sign; `line`, where tracing stops, is 0 if unknown."""
    where = f"stopped at line {line - code_of(f).co_firstlineno + 1}" if line else "stopped"
    inputs = [replace(box, value="?") for box in left.boxes.values() if box.id in left.given]
    sign = Box("stop", "op", f"{f.__name__} cannot be traced", "", where, "", "")
    arrows = tuple(Arrow(f"stop{box.id}", box.id, "stop") for box in inputs)
    return draw_half(Picture((*inputs, sign), arrows), "r", {})


def tally(ran: Counter[int], line: int) -> dict[str, str]:
    """How often a line has run: a dot for each time, up to four."""
    n = ran[line]
    return {f"ran {line}": "●" * n if n <= 4 else f"{n} ●"}


def to_come(left: EagerRun) -> list[str]:
    """The boxes and arrows that the eager run adds."""
    given = [f"l{box}" for box in left.given]
    return [part for part in left.parts() if part not in given]


def to_be_built(right: AsGraph) -> list[str]:
    """The boxes and arrows that the trace adds: none if an earlier call traced the graph."""
    if not right.is_new:
        return []
    return [f"r{box.id}" for box in right.picture.boxes] + [f"r{arrow.id}" for arrow in right.picture.arrows]


def sentence(source: str, moment: LineRun, parts: Sequence[str], text: str, already: str, where: str = "traced") -> str:
    """A sentence about a line's effects on both sides; `already` describes a line that adds no box."""
    boxes = [part for part in parts if part.startswith("rb")]
    values = join_names(list(moment.values.values()))
    left = f"computes {values}" if values else "computes nothing"
    left += " and prints" if moment.says else ""
    right = f"adds {pluralize(len(boxes), 'box', 'boxes')}" if boxes else already
    right += " and prints, for it is Python that runs while tracing" if text else ""
    return f"{source.strip()}    Run eagerly, this line {left}{f'; {where}, it {right}' if right else ''}."


def compare_results(left: str, right: str) -> str:
    """A sentence that compares both results."""
    if left == right or (
        is_number(left) and is_number(right) and float(left.replace("−", "-")) == float(right.replace("−", "-"))
    ):
        return f"Both have the same result: {left}. "
    why = "Python code that is no op ran while the function was traced, but not when the graph ran"
    return f"The results differ, {left} eagerly and {right} from the graph: {why}. "


def describe_difference(name: str, left: EagerRun, right: AsGraph) -> str:
    """What Python did in each run: the function's lines that it ran, the output and the branches."""
    facts = ["it printed nothing"] * (any(each.says for each in left.moments) and not any(right.run.prints.values()))
    facts += ["each if in it has both branches"] * bool(right.run.branches)
    end = f": {' and '.join(facts)}" if facts else ""
    lines = pluralize(len(left.moments), "line", "lines")
    return f"Eagerly, Python ran {lines} of {name}. The graph ran without Python{end}."


class TraceError(Exception):
    """The function runs eagerly but cannot be traced. The message says why.

    line    the line that cannot be traced; 0 if it is unknown
    """

    def __init__(self, error: Exception, code: CodeType, branch: str):
        """branch    the framework's function for an if on a tensor"""
        name, message = type(error).__name__, str(error)
        frames = [(frame.filename, frame.lineno or 0) for frame in extract_tb(error.__traceback__)]
        if message.startswith("in user code:"):  # AutoGraph's own traceback
            frames = [(file, int(n)) for file, n in re.findall(r'File "(.+)", line (\d+)', message)]
            message = message.strip().rpartition("\n")[2].strip()
        elif type(error).__module__.partition(".")[0] in READERS:
            message = f"{name}: {re.split(r' [(]|[.] |[.]?$', message, flags=re.MULTILINE)[0]}"
        self.line = own_line(frames, code)
        at = f"line {self.line - code.co_firstlineno + 1} needs a value, and no value exists while tracing. "
        is_known = self.line > 0 and bool(NEEDS_VALUE.match(name))
        message = re.sub("^.*being built.*(?=To branch)|: mg.function converts.*", "", message) if is_known else message
        advice = f". An if on a tensor can be traced as {branch}(condition, f, g, …)"
        super().__init__(at * is_known + (message or name) + advice * bool(branch) * is_known)


class AsGraph:
    """The traced graph of a function, and the values of one run of it.

    is_new    whether this call traced the function; a later call of the same kind reuses the graph
    count     how often the function has been traced so far
    line      box → the function's line that built it, itself or in another function that it calls; 0 for an input
    taken     box of an if → the id of the branch that ran, "true of rb5" or "false of rb5"
    unbuilt   id of a box for an op of `left` that is not in the graph → "unused", or "a view" if it is a view
    result    the outputs as text
    Raises TraceError if tracing fails, ValueError for a graph of more than 60 boxes.
    """

    def __init__(self, traces: Any, args: Sequence[Any], left: EagerRun, code: CodeType):
        events: list[Any] = []
        before = traces.trace_count
        try:
            with redirect_stdout(PrintRecorder(events, getattr(traces, "user_line", None))):
                traces.trace_for(*args)
        except Exception as error:  # raised by the learner's code or by the framework: the widget shows it
            raise TraceError(error, code, getattr(left.framework, "branch", "")) from error
        self.count = traces.trace_count
        self.is_new = self.count > before
        self.printed = [event for event in events if isinstance(event, PrintEvent)] if self.is_new else []
        self.run = traces.run(*args)
        refuse_large("StaticVsDynamic", self.run.picture(), LARGEST)
        self.result = join_names([format_value(x, left.framework) for x in self.run.results])
        self.line = self.lines_of(left.moments)
        self.taken = {box: f"{branch} of r{box}" for box, branch in self.run.taken.items()}
        names = {box.id: left.name(self.line[box.id], box.op) for box in self.run.boxes.values()}
        boxes = (replace(x, name=names[x.id] or x.name) for x in self.run.boxes.values())
        self.picture = Picture(tuple(boxes), tuple(self.run.arrows))
        self.svg = self.draw(left, code.co_firstlineno)
        self.shown: set[str] = set()
        self.turns = defaultdict[int, list[int]](list)  # line → the number of eager ops in each turn to come
        for moment in left.moments:
            self.turns[moment.line].append(len(moment.values))

    def draw(self, left: EagerRun, first: int) -> str:
        """The graph, with ghosts for unused ops."""
        lines = {box: line - first + 1 for box, line in self.line.items() if line}
        ghosts = self.ghosts(left)
        self.unbuilt = {f"r{x.id}": "a view" if x.id.split()[1] in left.used else "unused" for x in ghosts}
        captions = {**self.run.branches, **{id[1:]: why for id, why in self.unbuilt.items()}}
        inputs, ids = {x.name: x.id for x in self.picture.boxes if x.kind == "leaf"}, [x.id for x in ghosts]
        boxes = left.boxes.values()
        place = {x.id: inputs[x.name] if x.id in left.given and x.name in inputs else f"not {x.id}" for x in boxes}
        arrows = [Arrow(f"not {x.id}", place[x.tail], f"not {x.head}") for x in left.arrows]
        arrows = [x for x in arrows if x.head in ids and x.tail in [*ids, *inputs.values()]]
        self.unbuilt |= {f"r{x.id}": self.unbuilt[f"r{x.head}"] for x in arrows}
        picture = Picture((*ghosts, *self.picture.boxes), (*self.picture.arrows, *arrows))
        return self.mark_branches(draw_half(picture, "r", lines, captions) if self.picture.boxes else "", captions)

    def ghosts(self, left: EagerRun) -> list[Box]:
        """Boxes for ops of the eager run that the graph dropped; none if the graph has branches or loops."""
        if not self.is_new or not self.run.drops or self.run.inner:
            return []
        built = {*self.line.values()}
        ops = [box for box in left.boxes.values() if box.kind == "op"]
        gone = [box for box in ops if left.line[f"l{box.id}"] not in built]
        is_all = len(ops) - len(gone) == sum(box.kind == "op" for box in self.picture.boxes)  # else lines differ
        return [replace(box, id=f"not {box.id}", name="not built", value="") for box in gone if is_all]

    def mark_branches(self, drawn: str, captions: dict[str, str]) -> str:
        """The picture with ghosts, and with each branch as a part; the branch that ran is highlighted."""
        for box in self.unbuilt:
            drawn = drawn.replace(f'" data-id="{box}"', f' mg-unused" data-id="{box}"')
        for box, branch in self.taken.items():
            for words in escape(captions[box]).split(" | "):
                id = f"{words.partition(':')[0]} of r{box}"
                part = f'<tspan class="{"mg-taken" * (id == branch)}" data-id="{id}">{words}</tspan>'
                at = drawn.index(words, drawn.index(f'data-id="r{box}"'))
                drawn = drawn[:at] + part + drawn[at + len(words) :]
        return drawn

    def lines_of(self, moments: Sequence[LineRun]) -> dict[str, int]:
        found: dict[str, int] = {}
        for moment in moments:
            made = [x for x in self.run.order if x not in found and self.run.lines.get(x, 0) in moment.made_at]
            found |= dict.fromkeys(made[: len(moment.values)], moment.line)
        return {x.id: found.get(x.id, self.run.lines.get(x.id, 0)) for x in self.run.boxes.values()}

    def explain_no_box(self, moment: LineRun) -> str:
        """Words for a line that adds no box: it may add nothing, or the graph may have its boxes already."""
        there = self.boxes_there(moment)
        if there and there[0] in self.run.inner and moment.made_at & self.run.inner[there[0]]:
            return f"is in the {self.picture.box[there[0]].op} already"
        return "has its boxes already" if there else "adds nothing"

    def boxes_there(self, moment: LineRun) -> list[str]:
        """The boxes that the graph has for a line already."""
        for box, lines in self.run.inner.items():
            if moment.made_at & lines:
                return [box]
        return [x for x in (self.shown if self.is_new else self.line) if self.line[x] == moment.line]

    def build_line(self, moment: LineRun) -> tuple[list[str], str]:
        """The boxes and arrows to show when this line runs, and the line's output in the trace; empty if not `is_new`.

        In an unrolled loop, each turn shows as many boxes as the line ran ops eagerly. If the graph has more or fewer
        ops, each turn shows an equal share. A loop that is an op is traced once, so its first turn shows all boxes.
        """
        new = [x for x in self.run.order if self.is_new and self.line[x] == moment.line and x not in self.shown]
        if moment.line not in [self.line[box] for box in self.run.inner]:
            pure = [box for box in new if box not in self.run.effects]
            turns, self.turns[moment.line] = self.turns[moment.line], self.turns[moment.line][1:]
            share = -(-len(pure) // max(1, len(turns)))
            share = len(moment.values) if len(pure) == sum(turns) else share
            new = pure[:share] + [box for box in new if box in self.run.effects][:1]
        self.shown |= {*new}
        text = "".join(event.text for event in self.printed if event.line in moment.made_at)
        self.printed = [event for event in self.printed if event.line not in moment.made_at]
        return self.parts(new), text

    def parts(self, boxes: Sequence[str]) -> list[str]:
        """The ids of some boxes, and of the arrows into them."""
        return [f"r{box}" for box in boxes] + [f"r{a.id}" for a in self.picture.arrows if a.head in boxes]

    def inputs(self) -> list[str]:
        """The boxes of inputs."""
        return [box.id for box in self.picture.boxes if box.kind == "leaf"]
