"""Ten models of PyTorch in minigrad, torchviz, torchview and torchvista: what each tool draws, and at what price.

    pip install torchviz torchview torchvista playwright
    python scripts/graph_tools

Prints Markdown, of which the table in docs/your_own_graphs.md is made. Pages are opened in Chromium.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import partial
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from minigrad.widgets import GraphView
from models import MODELS, deep
from playwright.sync_api import sync_playwright
from torch import nn
from torchview import draw_graph
from torchvista import trace_model
from torchviz import make_dot

from tests.support.torch_models import gan

PAGE = Path(tempfile.mkdtemp()) / "page.html"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome", "chrome"))), None
)
PATTERNS = {
    "shapes": r"[\[(]\d+, \d+",
    "dtypes": r"f32|float32",
    "saved tensors": r"saved tensor|saves ",
    "their bytes": r"\d bytes",
    "nodes of backward": r"\w+Backward0",
    "names of parameters": r"\S*c_attn",
    "equal blocks": r"REPEAT \d+x|×12",
    "lines of the user's code": r"line \d+ of \w+",
}


class Drawing(NamedTuple):
    nodes: int
    arrows: int
    text: str
    page: Path | None = None


def draw_call(f: Any, x: Any, y: Any) -> Drawing:
    view = GraphView(f, x)
    view.save(PAGE)
    return drawing_of(view, PAGE)


def draw_backward(f: Any, x: Any, y: Any) -> Drawing:
    return drawing_of(GraphView([y], names={"model": f}))


def drawing_of(view: GraphView, page: Path | None = None) -> Drawing:
    text = json.dumps(view.items, ensure_ascii=False)
    return Drawing(len(view.overview.listing.entries), len(view.arrows) // 2, text, page)


def draw_with_torchviz(f: Any, x: Any, y: Any) -> Drawing:
    parameters = dict(f.named_parameters()) if isinstance(f, nn.Module) else None
    dot = make_dot(y, params=parameters, show_attrs=True, show_saved=True).source
    return Drawing(len(re.findall(r"^\t\w+ \[label", dot, re.M)), dot.count("->"), dot)


def draw_with_torchview(f: Any, x: Any, y: Any) -> Drawing:
    options = {"depth": 99, "expand_nested": True, "hide_module_functions": False, "mode": "train"}
    dot = draw_graph(f, input_data=[x], **options).visual_graph.source
    return Drawing(len(re.findall(r"^\t+\w+ \[label", dot, re.M)), dot.count("->"), dot)


def draw_with_torchvista(f: Any, x: Any, y: Any) -> Drawing:
    options = {"show_module_attr_names": True, "show_compressed_view": True}
    with redirect_stdout(StringIO()):
        trace_model(f, (x,), export_path=str(PAGE), **options)
    text = "\n".join(re.findall(r"^\s*(?:const|let|var) \w+ = \{.+", PAGE.read_text(encoding="utf-8"), re.M))
    nodes = json.loads(re.search(r"const adj_list = (\{.*\});", text)[1])  # type: ignore[index]
    return Drawing(len(nodes), sum(len(node["edges"]) for node in nodes.values()), text, PAGE)


TOOLS: dict[str, Callable[[Any, Any, Any], Drawing]] = {
    "minigrad": draw_call,
    "minigrad, of the result": draw_backward,
    "torchviz": draw_with_torchviz,
    "torchview": draw_with_torchview,
    "torchvista": draw_with_torchvista,
}


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(", ".join(f"{name} {version(name)}" for name in ("torch", "torchviz", "torchview", "torchvista")))
    print("Graphviz:", shutil.which("dot") or "missing, so torchviz and torchview write dot source only")
    made = {name: make() for name, make in MODELS.items()}
    large = {"a plain function": (gan(), torch.randn(3, 4)), "1,000 layers": deep()}
    attempts = ([name, *(attempt(draw, *model) for draw in TOOLS.values())] for name, model in (made | large).items())
    print_table("nodes, arrows; what changed", attempts)
    print_table("GPT-2's drawing contains", rows_of_words(*made["GPT-2"]))
    print_table("time with a drawing ÷ forward", ([name, *ratios(*model)] for name, model in made.items()))


def print_table(title: str, rows: Iterable[list[str]]) -> None:
    print()
    for row in [[title, *TOOLS], ["---"] * (len(TOOLS) + 1), *rows]:
        print(f"| {' | '.join(row)} |", flush=True)


def attempt(draw: Callable[..., Drawing], f: Any, x: Any) -> str:
    """What a tool draws, how long that takes, and what it changed in the model; or its error."""
    y = f(x)
    before, start = state_of(f, x), time.perf_counter()
    try:
        drawing = draw(f, x, y)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"
    seconds, after = time.perf_counter() - start, state_of(f, x)
    changed = " and ".join(part for part in before if before[part] != after[part]) or "nothing"
    size = drawing.page.stat().st_size if drawing.page else len(drawing.text)
    opened = f", {open_page(drawing.page)}" if drawing.page and BROWSER else ""
    return f"{drawing.nodes}, {drawing.arrows}; {changed}; {seconds:.2f} s, {size:,} bytes{opened}"


def state_of(f: Any, x: Any) -> dict[str, Any]:
    modules = [*f.modules()] if isinstance(f, nn.Module) else []
    tensors = [x, *(each for module in modules for each in module.parameters(recurse=False))]
    return {
        "buffers": [b.tolist() for module in modules for b in module.buffers(recurse=False)],
        "parameters": [(id(each), each._version) for each in tensors],
        "gradients": [id(each.grad) for each in tensors],
        "random numbers": torch.get_rng_state().tolist(),
        "modes and hooks": [(m.training, len(m._forward_hooks), len(m._forward_pre_hooks)) for m in modules],
        "attributes": [(type(each), sorted(vars(each))) for each in [*tensors, *modules]],
    }


def open_page(page: Path) -> str:
    """How long the browser takes to show the page, and how often it asks the network."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        tab, urls = chromium.new_page(), list[str]()
        tab.on("request", lambda request: urls.append(request.url))
        start = time.perf_counter()
        tab.goto(page.as_uri())
        tab.locator("svg rect, svg polygon").nth(2).wait_for(state="attached")
        seconds = time.perf_counter() - start
        chromium.close()
    return f"shown in {seconds:.1f} s, {sum(url.startswith('http') for url in urls)} requests"


def rows_of_words(f: Any, x: Any) -> Iterable[list[str]]:
    texts = [draw(f, x, f(x)).text for draw in TOOLS.values()]
    for what, pattern in PATTERNS.items():
        found = [re.findall(pattern, text) for text in texts]
        yield [what, *(f"{len(each)}: {each[0]}" if each else "no" for each in found)]


def ratios(f: Any, x: Any) -> list[str]:
    """The best of seven, side by side. Two of the tools draw a result, so the forward pass is part of their time."""
    calls = [partial(f, x), partial(GraphView, f, x, names={})]
    for name, draw in [*TOOLS.items()][1:]:
        reads_result = name in ("minigrad, of the result", "torchviz")
        calls.append(lambda draw=draw, reads=reads_result: draw(f, x, f(x) if reads else None))
    forward, *others = [min(times) for times in zip(*([seconds_of(call) for call in calls] for _ in range(7)))]
    return [f"{seconds / forward:.1f} of {forward * 1000:.1f} ms" for seconds in others]


def seconds_of(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
