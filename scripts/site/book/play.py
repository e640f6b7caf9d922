"""The playground: a field that draws the graph of what the visitor types, on the first page and on each lesson's page.

Its JavaScript runs what minigrad would run (play/language.js, play/engine.js); tests/browser/test_play_browser.py
compares the two. A lesson's page loads it when the reader opens it.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDGETS = HERE.parents[2] / "minigrad" / "course" / "widgets"
LAYOUT = [WIDGETS / f"graph_{name}.js" for name in ("rows", "layout")]
PARTS = [HERE / "play" / f"{name}.js" for name in ("language", "engine", "drawing", "words", "play")]
FIRST = "z = (x * y + w) * x"
LESSONS = {  # no program answers a question of its lesson; a program with an `if` opens with both graphs
    "00": "x = 1.5; y = -2; w = 4; z = x * y + w",
    "01": "x = 2; y = sin(x) if x > 1 else x ** 2 + x; z = y + 1",
    "02": "x = 1.5; y = 2; w = -1; temp = x * y; s = temp + w; loss = s ** 2",
    "03": "x0 = 1; x1 = 0.5; w0 = 0.7; w1 = -1.2; b = 0.1; neuron = tanh(w0 * x0 + w1 * x1 + b)",
    "04": "x = [1, 2, 3]; w = 0.5; b = -1; loss = sum((w * x + b) ** 2)",
    "05": "x = 1; y = 2; w = 0.5; s = x * y + w; square = s ** 2",
    "06": "x = 0.5; w = 2; h = x * w; s = exp(h); y = tanh(s)",
    "07": "x = 0.5; y = tanh(x); slope = 1 - y ** 2",
    "08": "x = 6; y = x / 2 if x > 4 else 3 * x + 1",
    "09": "x = [1, 2, 3]; y = [4, 5, 6]; products = x * y; total = sum(products)",
    "10": "x = 2; y = x * x if x > 0 else exp(-x)",
    "11": "x = 3; w = 2; b = 1; y = w * x + b if x > 0 else 0.1 * x",
    "12": "score = 710; p = exp(score) / (exp(score) + 1)",
    "13": "x = 0.5; y = tanh(x) * 1 + tanh(x) * (6 / 3)",
    "14": "x = 1; left = tanh(sin(exp(x))); right = sqrt(exp(cos(x))); y = left * right",
    "15": "x = [1, 2, 3]; w = 0.5; b = -1; y = sum(tanh(x * w + b))",
    "16": "x = [1, 2]; c = exp(x + 1) * 2; e = sin(c); g = sum(tanh(e) * e)",
    "17": "q = [1, 2]; k = [0.5, -1]; score = dot(q, k) / 2 ** 0.5",
    "18": "x = 0.5; y = 0.5 * x * (1 + tanh(0.798 * (x + 0.0447 * x ** 3)))",
    "19": "w = [0.31, -0.12, 0.9]; s = 0.1; k = s * [3, -1, 9]; loss = mean((w - k) ** 2)",
    "20": "x = 0.001; w = 0.01; loss = (w * x) ** 2; scale = 1024; scaled = scale * loss",
    "21": "x = 0.5; w = 1.5; a = tanh(w * x); b = tanh(w * a); y = tanh(w * b)",
    "22": "w = 2; first = mean(w * [1, 2]); second = mean(w * [3, 4]); loss = (first + second) / 2",
    "23": "x = [1, 2]; u = [3, 4]; w = [0.5, -1]; v = [0.2, 0.1]; y = tanh(dot(w, x) + dot(v, u))",
    "24": "x = 0.7; w = 0.5; h = tanh(2 * x - 1); y = h + tanh(w * h)",
    "25": "scores = [2, 1, -1]; loss = log(sum(exp(scores))) - dot(scores, [1, 0, 0])",
    "90": FIRST,
}


def script() -> str:
    """All of the JavaScript. It defines playground(element), which starts the element's playground."""
    layout, modules = ("\n".join(path.read_text("utf-8") for path in paths) for paths in (LAYOUT, PARTS))
    # the layout's names stay inside
    layout = f"const {{ arranged, curve }} = (() => {{\n{layout}\nreturn {{ arranged, curve }};\n}})();"
    return f"const playground = (() => {{\n{layout}\n{modules}\nreturn (place) => new Playground(place);\n}})();\n"


def sheet() -> str:
    return (HERE / "play" / "play.css").read_text("utf-8")


def write(static: Path) -> None:
    """Write the files that a page loads."""
    (static / "play.js").write_text(script(), "utf-8")
    (static / "play.css").write_text(sheet(), "utf-8")


def html_of(program: str) -> str:
    """The HTML of a playground, with its first text. It has no blank line, which would end HTML in Markdown."""
    text, view = program.replace("; ", "\n"), "both" if " if " in program else "eager"
    html = (HERE / "play" / "playground.html").read_text("utf-8").strip()
    html = html.replace(f'value="{view}"', f'value="{view}" checked').replace("LINES", str(text.count("\n") + 1))
    return html.replace("TEXT", escape(text))


def of_first_page() -> str:
    link = '<link rel="stylesheet" href="_static/play.css">'
    return f'{link}\n<div class="play play-ground">\n{html_of(FIRST)}\n</div>\n'


def of_lesson(lesson: str) -> str:
    """A closed playground with the lesson's own expression; nothing of it is loaded until it is opened."""
    program = LESSONS[lesson[:2]]
    summary = f"<summary>Change it: <code>{escape(program.split('; ')[-1])}</code></summary>"
    return f'<details class="play">\n{summary}\n<div class="play-ground">\n{html_of(program)}\n</div>\n</details>\n'
