"""The book as a reader has it: every page of it in Chromium, on a phone and by night, by keys and without a network."""

from __future__ import annotations

import gzip
import importlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from notebooks.answer_folding import slug
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Pages, Visit
from tests.browser.listening import run_with_site, served
from tests.plugins.tiers import is_row_in_share

pytestmark = pytest.mark.timeout(900)  # the first test builds the book: a minute, or five beside much other work
NIGHTLY = bool(os.environ.get("NIGHTLY"))
STEPPING = ("02_chain_rule_backwards", "01_what_a_graph_is", "90_gallery")  # by day; by night all lessons are run
KINDS = (  # a page of each kind, for what takes a second a page
    "index.html", "search.html", "lessons/02_chain_rule_backwards.html", "lessons/15_compiled_code.html",
    "lessons/README.html", "lessons/GLOSSARY.html",
    "docs/grading.html", "minigrad/engine/core/backward.html", "api/index.html", "api/ops/matmul.html",
)  # fmt: skip
BUILD = """
import sys, book
from pathlib import Path
if __name__ == "__main__":
    stepping = sys.argv[2:]
    book.build(Path(sys.argv[1]), book.lessons.Site("owner/name"), lambda one: not stepping or one in stepping)
"""
BUILD_ONE = """
import sys
from pathlib import Path
from book import HERE, lessons
from sphinx.cmd.build import build_main
if __name__ == "__main__":
    out, name = Path(sys.argv[1]), sys.argv[2]
    files, source = out / "_static" / "files", out.with_name("source")
    files.mkdir(parents=True)
    (source / "lessons").mkdir(parents=True)
    text = lessons.page(Path("lessons", f"{name}.ipynb").absolute(), files, lessons.Site("owner/name"), True)
    (source / "lessons" / f"{name}.ipynb").write_text(text, "utf-8")
    contents = f"# Book\\n{lessons.first(files)}\\n```{{toctree}}\\nlessons/{name}\\n```\\n"
    (source / "index.md").write_text(contents, "utf-8")
    sys.exit(build_main(["-q", f"-c{HERE}", str(source), str(out)]))
"""
TOO_WIDE = """() => [document.documentElement, document.querySelector(".content")].some(
  (box) => box.scrollWidth > box.clientWidth)"""  # the theme lets its column scroll in the place of the page
WHOLE = 1_000_000  # bytes of a page and all that it loads, compressed, without what widgets hold
REGION = re.compile(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", re.DOTALL)


@dataclass
class Book:
    folder: Path
    url: str

    @property
    def pages(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.html"))


class Anchors:
    """The ids of a page, and where it links to. HTMLParser takes 20 times as long, and finds the same."""

    def __init__(self, text: str):
        found = [(name, unescape(value)) for name, value in re.findall(r'\s(id|href|src)="([^"<>]+)"', text)]
        self.ids = [value for name, value in found if name == "id"]
        self.links = [value for name, value in found if name != "id"]


@contextmanager
def built(folder: Path, program: str, *arguments: str) -> Iterator[Book]:
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module, reason="the site's tools are missing: python3 start.py add lite")
    ran = run_with_site(program, folder, *arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with served(folder) as server:
        yield Book(folder, f"http://127.0.0.1:{server.server_port}/")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    with built(tmp_path_factory.mktemp("site") / "out", BUILD, *(() if NIGHTLY else STEPPING)) as book:
        yield book


@pytest.fixture(scope="module")
def one_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """The book with a single lesson in it, which is built in a tenth of the time."""
    with built(tmp_path_factory.mktemp("page") / "out", BUILD_ONE, STEPPING[0]) as book:
        yield book


@contextmanager
def opener(book: Book, pages: Pages) -> Iterator[Callable[..., Page]]:
    """Opens a page of the book. At the end nothing may have gone wrong."""
    wrong: list[str] = []

    def open_page(name: str, **context: object) -> Page:
        page = pages.open(Visit, alone=True, **context).page
        page.on("request", lambda one: None if one.url.startswith((book.url, "data:")) else wrong.append(one.url))
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.goto(book.url + name)
        return page

    yield open_page
    assert wrong == []


@pytest.fixture
def reader(book: Book, pages: Pages) -> Iterator[Callable[..., Page]]:
    """Opens a page of the whole book: reader("index.html", color_scheme="dark")."""
    with opener(book, pages) as open_page:
        yield open_page


@pytest.fixture
def lesson(one_page: Book, pages: Pages) -> Iterator[Page]:
    """The page of lesson 02."""
    with opener(one_page, pages) as open_page:
        yield open_page(f"lessons/{STEPPING[0]}.html")


def test_a_page_is_quiet_fits_a_phone_and_is_not_heavy(book, reader, record_property, request):
    """A page of each kind, and one in six of the others; by night all of them.

    The weight is without what widgets hold. How soon something is seen is printed and not judged.
    """
    page = reader("index.html", viewport={"width": 360, "height": 740})
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(urlsplit(request.url).path[1:]))
    too_wide, heavy, share = [], {}, request.config.option.share
    for name in (one for one in book.pages if NIGHTLY or one in KINDS or is_row_in_share(one, 6, share)):
        loaded.clear()
        page.goto(book.url + name, wait_until="networkidle" if NIGHTLY else "load")
        if page.evaluate(TOO_WIDE):
            too_wide.append(name)
        files = {one for one in loaded if not re.match(r"_static/files/.*\.js", one)}
        heavy[sum(compressed(book.folder / one) for one in files)] = name
    page.goto(book.url)
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    heaviest = f"the heaviest page is {heavy[max(heavy)]}, {max(heavy):,} bytes"
    record_property("latency", f"book: first paint {paint:.0f} ms; {heaviest}")
    assert len(book.pages) > 200
    assert too_wide == []
    assert max(heavy) < WHOLE


@cache
def compressed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes()))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(book, reader, scheme, request):
    """On a page of each kind, in the scheme that the commit decides; by night on all pages in both schemes."""
    share = request.config.option.share
    page = reader("index.html", color_scheme=scheme)
    found = []
    rows = [name for name in KINDS if is_row_in_share(name, 2, share + (scheme == "dark"))]
    for name in book.pages if NIGHTLY else rows:
        page.goto(book.url + name)
        for place in page.locator(".widget:has(> *)").all()[:1]:
            place.scroll_into_view_if_needed()
        found += [f"{name}: {violation}" for violation in Visit(page).violations("html")]
    assert found == []


def test_every_link_leads_somewhere(book):
    anchors = {name: Anchors((book.folder / name).read_text("utf-8")) for name in book.pages}
    lost = []
    for name, page in anchors.items():
        for link in map(unescape, page.links):
            target = urlsplit(urljoin(name, link))
            place = unquote(target.fragment)
            if target.scheme or target.netloc or name == "search.html":
                continue
            if target.path.startswith("run/"):
                notebook = dict(part.split("=") for part in target.query.split("&")).get("path") if target.query else ""
                exists = target.path == "run/lab/index.html" and (ROOT / notebook).exists()
            else:
                exists = (book.folder / target.path).is_file()
                if exists and place and target.path in anchors:
                    exists = place in anchors[target.path].ids
            if not exists:
                lost.append(f"{name}: {link}")
    assert sum(len(page.links) for page in anchors.values()) > 10_000
    assert lost == []
    assert [name for name, page in anchors.items() if len(page.ids) != len(set(page.ids))] == []


def test_no_answer_is_in_the_book(book):
    """What a learner is to find: the worked solutions, and what a quiz takes for right."""
    pages = "\n".join(unescape(re.sub(r"<[^>]+>", "", (book.folder / name).read_text("utf-8"))) for name in book.pages)
    files = "\n".join(path.read_text("utf-8") for path in book.folder.rglob("*.js"))
    sources = [path.read_text("utf-8") for path in (ROOT / "solutions" / "source").glob("*.py")]
    secrets = [body for text in sources for body in REGION.findall(text) if body.count("\n") > 2]
    assert len(secrets) > 30
    assert [secret for secret in secrets if secret in pages] == []
    assert files.count('"questions":[') == files.count('"results":{}') > 2  # of quizzes; what is right comes when asked
    assert not list(book.folder.rglob("*solution*")) + list(book.folder.rglob("*answer*"))


@pytest.mark.daily
def test_a_widget_steps_by_click_and_by_key(lesson):
    page = lesson
    page.locator(".widget:has(img)").first.scroll_into_view_if_needed()
    widget = page.locator(".mg-widget[data-step]").first
    widget.scroll_into_view_if_needed()
    assert widget.get_attribute("data-step") == "0"

    widget.get_by_role("button", name="Step", exact=True).click()
    expect(widget).to_have_attribute("data-step", "1")
    widget.focus()
    page.keyboard.press("ArrowRight")
    expect(widget).to_have_attribute("data-step", "2")
    page.keyboard.press("End")
    expect(widget.locator(".mg-say")).not_to_be_empty()
    assert int(widget.get_attribute("data-step")) > 5


@pytest.mark.daily
def test_a_lock_opens_the_answer_which_is_folded_until_then(lesson):
    """What the cell printed, and the prose below it; any other answer stays closed."""
    page = lesson
    assert page.locator("details.hide[open], details.mg-answer[open]").count() == 0
    question = page.locator(".widget").first
    question.scroll_into_view_if_needed()
    question.get_by_role("textbox").fill("3")
    question.get_by_role("radio").first.check()
    question.get_by_role("button", name="Lock").click()

    expect(question.get_by_role("button", name="Locked")).to_be_disabled()
    name = question.get_by_role("group", name="Prediction: ").get_attribute("aria-label").partition(": ")[2]
    answer = page.locator(f"details.mg-answer-{slug(name)}").first
    expect(answer.locator("p").first).to_be_visible()
    expect(page.get_by_text(f"{name}: it is ")).to_be_visible()
    assert page.locator("details.mg-answer[open]").count() == 1
    page.locator("details.mg-answer").last.locator("summary").click()
    expect(page.locator("details.mg-answer").last.locator("p").first).to_be_visible()
    assert Visit(page).violations("details.mg-answer[open]") == []


def test_the_first_screen_plays(reader):
    """At 1366 x 768 the field, the graph and what it says are seen together."""
    page = reader("index.html", viewport={"width": 1366, "height": 768})
    expect(page.locator(".play").get_by_role("slider", name="x")).to_be_visible()
    said = page.locator(".play-say")
    expect(said).to_have_text("z = −4. Its gradients are x: −6 + (−2) = −8; y: 4; w: 2.")
    box = said.bounding_box()
    assert box["y"] + box["height"] < 768

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="arrays").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".play-copied")).to_have_text("Copied.")
    assert "#play=x+%3D+%5B1" in page.evaluate("navigator.clipboard.readText()")


def test_a_lesson_loads_its_playground_when_it_is_opened(lesson):
    page = lesson
    scripts = "() => [...document.scripts].filter(({ src }) => src.endsWith('play.js')).length"
    assert page.evaluate(scripts) == 0
    page.locator("details.play > summary").click()
    expect(page.locator(".play-op .play-head")).to_have_text(["temp = x × y", "s = temp + w", "loss = s ^ 2"])
    assert page.evaluate(scripts) == 1
    expect(page.locator("details.play svg").first).to_be_in_viewport(ratio=0.5)
    expect(page.locator("details.play > summary code")).to_have_text("loss = s ** 2")

    page.evaluate("location.hash = 'play=x*x'")
    expect(page.locator(".play-op .play-head")).to_have_text(["x × x"])
    expect(page.locator("details.play > summary code")).to_have_text("x*x")
    expect(page.locator("details.play")).to_be_in_viewport(ratio=0.5)
    page.reload()
    expect(page.locator(".play-op .play-head")).to_have_text(["x × x"])


def test_all_widgets_of_the_gallery_come_when_the_reader_does(book, reader):
    page = reader("lessons/90_gallery.html")
    assert page.locator(".mg-widget").count() < 5
    places = page.locator(".widget")
    text = (book.folder / "lessons/90_gallery.html").read_text("utf-8")
    assert places.count() == len(re.findall(r"data-widget=", text)) > 14
    for place in places.all():
        place.scroll_into_view_if_needed()
        expect(place.locator(".mg-widget").first).to_be_visible()


def test_widgets_follow_the_theme_that_is_chosen(reader):
    page = reader("index.html", color_scheme="light")
    widget = page.locator(".mg-widget").first
    colour = "element => getComputedStyle(element).getPropertyValue('--mg-paper')"
    by_day = widget.evaluate(colour)
    page.locator(".theme-toggle").locator("visible=true").first.click()  # to dark, from what the system says

    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    assert widget.evaluate(colour) != by_day


def test_a_word_says_what_it_means_to_pointer_and_keys(reader):
    page = reader("lessons/02_chain_rule_backwards.html")
    word, note = page.locator(".term").first, page.get_by_role("tooltip")
    expect(note).to_be_hidden()
    word.hover()
    expect(note).to_have_text(word.get_attribute("data-meaning"))
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    word.focus()
    expect(note).to_be_visible()
    word.click()
    page.wait_for_url("**/GLOSSARY.html#term-*")


def test_no_page_shows_what_was_meant_as_html(book):
    """A word of the glossary in a formula, the loss of lesson 20, was a link there, and MathML showed its letters."""
    shown = [name for name in book.pages if '&lt;a class="' in (book.folder / name).read_text("utf-8")]
    assert shown == []


def test_words_of_everyday_senses_are_not_explained(book):
    pages = [(book.folder / name).read_text("utf-8") for name in book.pages if name.startswith("lessons/")]
    explained = {term for page in pages for term in re.findall(r'class="term" href="GLOSSARY.html#term-([^"]+)"', page)}
    assert {"gradient", "jacobian"} <= explained
    assert explained & {"in-place", "pass", "fetch", "view", "scale"} == set()


def test_a_lesson_leads_to_colab_and_binder_where_the_repository_is_known(book):
    for lesson in sorted((ROOT / "lessons").glob("*.ipynb")):
        page = Anchors((book.folder / "lessons" / f"{lesson.stem}.html").read_text("utf-8"))
        there = [link for link in page.links if link.endswith(f"lessons/{lesson.name}")]
        here = [f"../run/lab/index.html?path=lessons/{lesson.name}"] if lesson.name[:2] in ("00", "01", "02") else []
        assert there == [
            *here,
            f"https://colab.research.google.com/github/owner/name/blob/hosted/lessons/{lesson.name}",
            f"https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/lessons/{lesson.name}",
        ]


def test_a_page_says_where_its_lesson_runs(book, browser):
    here, not_here = ("lessons/02_chain_rule_backwards.html", "lessons/04_tensors.html")
    assert "<b>Run this lesson</b> opens it in your browser" in (book.folder / here).read_text("utf-8")
    assert 'href="../index.html#on-your-own-machine"' in (book.folder / not_here).read_text("utf-8")

    page = browser.new_page()
    page.goto((book.folder / here).as_uri())
    expect(page.locator(".ways")).to_contain_text("What runs needs a web server")
    assert page.locator('[target="run"][href]').count() == 0
    page.close()


@pytest.mark.parametrize(("asked", "found", "where"), [
    ("retain_grad", "mg.Tensor.retain_grad", "/api/mg.html#mg.Tensor.retain_grad"),
    ("adamw", "mg.optim.AdamW", "/api/optim.html#mg.optim.AdamW"), ("softmax op", "ops.Softmax", "#ops.Softmax"),
    ("backwards", "02 The chain rule, backwards", "/lessons/02_chain_rule_backwards.html"),
])  # fmt: skip
def test_search_finds_first_what_has_that_name(reader, asked, found, where):
    page = reader("index.html")
    page.get_by_placeholder("Search").fill(asked)
    page.keyboard.press("Enter")
    first = page.locator("#search-results li a").first
    expect(first).to_have_text(found)
    first.click()
    page.wait_for_url(f"**{where}*")


def test_the_reference_has_every_op_with_its_derivative(book):
    ops = importlib.import_module("minigrad.engine.ops")
    text = "\n".join((book.folder / name).read_text("utf-8") for name in book.pages if name.startswith("api/ops/"))
    named = {one for one, value in vars(ops).items() if isinstance(value, type) and issubclass(value, ops.Op)} - {"Op"}
    assert {one for one in named if f'id="ops.{one}"' not in text} == set()
    assert "∂y/∂x = 1 − y × y" in text  # tanh
    assert "∂y/∂x = x ≥ min ∧ x ≤ max" in unescape(text)  # clamp, by its parameters
    assert "∂y/∂x = where(x > 0, 1, exp(clamp(x)))" in unescape(text)  # elu, of which a number would come from three
    assert "gx = g @ yᵀ" in text
    assert "f64[2, 3], f64[3, 4] → f64[2, 4]" in text


@pytest.mark.parametrize(("page", "name"), [
    ("onnx", "mg.onnx.export"), ("utils.checkpoint", "mg.utils.checkpoint.checkpoint"),
    ("utils.data", "mg.utils.data.Subset"),
    ("utils.tensorboard", "mg.utils.tensorboard.SummaryWriter"), ("nn", "mg.nn.Linear"), ("mg", "mg.einsum"),
])  # fmt: skip
def test_the_reference_has_a_name_with_its_signature_and_its_source(book, page, name):
    text = (book.folder / f"api/{page}.html").read_text("utf-8")
    entry = text.partition(f'id="{name}"')[2].partition("</dl>")[0]
    assert 'class="sig-paren">(' in entry
    assert f'.html#{name.rpartition(".")[2]}">' in entry


def test_the_reference_has_nothing_that_a_module_imports_for_its_own_use(book):
    names = [name for name in book.pages if name.startswith("api/")]
    pages = {name: Anchors((book.folder / name).read_text("utf-8")).ids for name in names}
    defined = {place for places in pages.values() for place in places}
    assert {"mg.Tensor", "mg.func.vmap", "mg.utils.checkpoint.CheckpointPolicy"} <= defined
    assert defined & {"mg.fft.Tensor", "mg.func.Alias", "mg.utils.checkpoint.Op", "mg.func.blocks_of"} == set()


def test_the_map_leads_to_its_lessons(reader):
    page = reader("lessons/README.html")
    page.locator("svg.mg-picture a", has_text="Tracing").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Tracing")
