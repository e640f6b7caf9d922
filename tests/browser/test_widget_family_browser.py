"""What holds for every widget on a screen: keys, themes, small screens, no motion, and how soon it answers."""

from functools import cache

import pytest
from playwright.sync_api import expect

import minigrad as mg
from minigrad.course.widgets import ChainRule
from minigrad.course.widgets.widget import javascript
from minigrad.draw.words import number
from tests.browser.conftest import press
from tests.examples.widgets import WIDGETS

# Presses a key, and says how many milliseconds later the screen was another: written to, and painted.
TIMED = """async (key) => {
  const widget = document.querySelector(".mg-widget");
  const start = performance.now();
  widget.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const changed = performance.now() - start;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return [changed, performance.now() - start];
}"""
HEIGHTS = """() => [...document.querySelectorAll(".mg-widget button")].filter((button) => button.checkVisibility())
  .map((button) => button.getBoundingClientRect().height)"""  # in one go: a change of the width redraws some
STEPPED = sorted(WIDGETS.keys() - {"GraphView", "Guess", "Predict", "Quiz"})
TURNS = {"ChainRule": 1}  # every run steps it by its keys, and every third run each of the others
TIMES = 20


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The example of a widget, and its page: both made once. name -> (widget, path)"""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def made(name):
        widget = WIDGETS[name]()
        widget.save(folder / f"{name}.html")
        return widget, folder / f"{name}.html"

    return made


@pytest.fixture
def page_of_nothing(tmp_path):
    path = tmp_path / "nothing.html"
    path.write_text("<!DOCTYPE html><title>nothing</title>")
    return path


stepped = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.share(TURNS.get(name, 3))) for name in STEPPED]
)


@pytest.mark.daily
@stepped
def test_keys_go_to_the_end_and_the_same_way_back(visit, saved, name):
    widget, path = saved(name)
    page = visit(path).page
    root, say = page.locator(".mg-widget"), page.locator(".mg-say")
    root.focus()

    def told(key):
        page.keyboard.press(key)
        return root.get_attribute("data-step"), say.text_content(), drawn(page)

    there = [told("Home"), *(told("ArrowRight") for _ in widget.steps[1:])]
    back = [told("End"), *(told("ArrowLeft") for _ in widget.steps[1:])]
    assert [(step, words) for step, words, _ in there] == [(str(i), step["say"]) for i, step in enumerate(widget.steps)]
    assert back == there[::-1]


@pytest.mark.daily
@stepped
def test_every_control_does_what_its_name_says(visit, saved, name):
    widget, path = saved(name)
    page, last = visit(path).page, len(widget.steps) - 1
    if last < 3:
        pytest.skip("too few steps to stop between them")
    if page.locator(".mg-trains").count():
        pytest.skip("its buttons train: test_training_view_browser.py")
    root, say, speed = page.locator(".mg-widget"), page.locator(".mg-say"), page.get_by_label("Speed")
    slider = page.get_by_role("slider", name="Step", exact=True)
    for button, step in (("First step", 0), ("Step", 1), ("Step", 2), ("Step back", 1), ("Last step", last)):
        page.get_by_role("button", name=button, exact=True).click()
        expect(root).to_have_attribute("data-step", str(step))
        expect(page.locator(".mg-count")).to_have_text(f"step {step} of {last}")

    slider.fill("1")
    expect(root).to_have_attribute("data-step", "1")
    phase = widget.steps[1].get("phase") and root.get_attribute("data-phase")
    expect(slider).to_have_attribute("aria-valuetext", f"step 1 of {last}" + f", {phase}" * bool(phase))
    speed.select_option("2")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(say).to_have_attribute("aria-live", "off")
    page.wait_for_function("() => document.querySelector('.mg-widget').dataset.step >= 2")
    page.get_by_role("button", name="Pause", exact=True).click()
    at_rest = root.get_attribute("data-step")
    page.wait_for_timeout(1200)
    assert root.get_attribute("data-step") == at_rest
    expect(say).to_have_attribute("aria-live", "polite")

    slider.fill(str(last - 1))
    speed.select_option("4")
    root.focus()
    press(page, " ")
    expect(root).to_have_attribute("data-step", str(last))
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


@pytest.mark.daily
@pytest.mark.parametrize("digits", [3, 4])
def test_the_browser_writes_numbers_as_python_does(visit, page_of_nothing, digits):
    xs = [s * m * 10.0**e for s in (1, -1) for m in (1, 1.2, 2.5, 9.8764, 9.99999) for e in range(-9, 10)]
    xs += [n / 64 * 2.0**e for n in (421, 423, -133) for e in range(-3, 14)]  # some are half-way between two numbers
    page = visit(page_of_nothing).page

    program = f"([xs, digits]) => {{ {javascript('number')} return xs.map((x) => number(x, digits)); }}"
    said = page.evaluate(program, [[0.0, *xs], digits])

    assert said == [number(x, digits) for x in [0.0, *xs]]


def drawn(page):
    """What is on the screen, without what moves."""
    return page.locator(".mg-widget .mg-view").evaluate_all("views => views.map(view => view.innerText)")


@pytest.mark.share(8)
@pytest.mark.daily
@pytest.mark.parametrize("name", WIDGETS)
def test_a_small_screen_shuts_nobody_out_in_either_theme(visit, saved, name):
    opened = visit(saved(name)[1], reduced_motion="reduce", viewport={"width": 420, "height": 800})
    page = opened.page
    assert page.locator(".mg-widget [id]").count() == 0, "a second widget on the page would have the same id"
    for width in (1280, 640, 360, 420):  # a window of 1280 at 200 % shows 640 pixels
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), f"{width} pixels are too few"
        heights = page.evaluate(HEIGHTS)
        assert all(height >= 24 for height in heights), f"a button is too small for WCAG 2.2 at {width} pixels"

    page.locator(".mg-widget").first.focus()
    for keys in (["ArrowRight"] * 3, ["End"]):
        press(page, *keys)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert opened.violations("html") == [], f"{scheme}, after {keys}"


def test_a_reader_without_javascript_has_the_text(browser, saved):
    page = browser.new_page(java_script_enabled=False)
    for name in WIDGETS:
        widget, path = saved(name)
        page.goto(path.as_uri())
        assert page.locator("noscript").text_content() == widget.text, name
    page.close()


@pytest.mark.daily
@pytest.mark.parametrize("name", WIDGETS)
def test_a_view_that_is_taken_down_leaves_nothing_behind(visit, saved, name):
    """Its timers and listeners go with it: a change of the model then raises no error."""
    page = visit(saved(name)[1]).page
    page.evaluate(
        """async () => {
          const source = [...document.scripts].find((s) => s.type === "module").textContent;
          const end = source.lastIndexOf("const el = document");
          const alone = source.slice(0, end) + ";export { decompress }; export default widget;";
          const address = URL.createObjectURL(new Blob([alone], { type: "text/javascript" }));
          const { default: widget, decompress } = await import(address);
          const state = await decompress(document.getElementById("state").textContent);
          const heard = new Map();
          const model = {
            get: (key) => state[key], set: () => {}, save_changes: () => {}, send: () => {},
            on: (event, tell) => heard.set(event + tell, 1), off: (event, tell) => heard.delete(event + tell),
          };
          const el = document.createElement("div");
          document.body.append(el);
          const takeDown = widget.render({ model, el });
          if (!heard.size) throw new Error("it listens to nothing");
          el.querySelector("[data-action=play]")?.click();
          takeDown();
          if (heard.size) throw new Error(`still listening: ${[...heard.keys()]}`);
          if (el.children.length) throw new Error("still on the page");
        }"""
    )


@pytest.mark.parametrize("boxes", [20, 60])
def test_how_soon_a_step_is_seen(show, record_property, boxes):
    x = y = mg.Value(1.0)
    for _ in range((boxes - 1) // 2):
        y = y.tanh() + x
    page = show(ChainRule(y)).page
    times = sorted(page.evaluate(TIMED, "ArrowRight") for _ in range(TIMES))
    changed, painted = times[TIMES // 2]
    record_property("latency", f"ChainRule, {boxes} boxes: changed {changed:.1f}, painted {painted:.0f}")
    expect(page.locator(".mg-widget")).to_have_attribute("data-step", str(TIMES))


def commented(x):
    return x * 2  # <!--<script>, </script> and <b>


@pytest.mark.daily
def test_a_page_works_whatever_the_code_has_in_it(show):
    page = show(mg.widgets.StaticVsDynamic(commented, mg.tensor(1.0))).page
    assert page.locator(".mg-code span").nth(1).text_content() == "    return x * 2  # <!--<script>, </script> and <b>"


@pytest.mark.daily
def test_names_and_arguments_are_words_and_no_html(show):
    arguments = ["</option></select><img src=x>", 'a "quoted" <b> & one']
    f = lambda x, words: x * 2  # noqa: E731  # its name, <lambda>, has the look of a tag
    page = show(mg.widgets.StaticVsDynamic(f, cases=[(mg.tensor(1.0), words) for words in arguments])).page

    assert page.locator("#widget :is(img, b, lambda)").count() == 0
    assert page.locator("h1").text_content() == "<lambda>, eager and as a static graph"
    assert page.locator(".mg-widget").get_attribute("aria-label").startswith("<lambda>, eager and as a static graph.")
    assert page.locator("[data-choice] option").all_text_contents() == [f"1 and {words!r}" for words in arguments]


PLACES = """() => [".mg-top", ".mg-say", ".mg-player + *"].map((part) => {
  const { top, bottom } = document.querySelector(part).getBoundingClientRect();
  return [top, bottom].map((y) => y - document.querySelector(".mg-widget").getBoundingClientRect().top);
})"""


@pytest.mark.parametrize("name", STEPPED)
def test_buttons_sentence_and_picture_are_seen_together_and_no_step_moves_them(visit, saved, name):
    """The buttons were below the picture: 900 pixels below the sentence in some widgets."""
    widget, path = saved(name)
    page = visit(path, viewport={"width": 420, "height": 800}).page
    (top, bar), (say, said), (picture, _) = page.evaluate(PLACES)
    assert bar - top <= 90
    assert bar <= say < said <= picture < 300
    page.locator(".mg-widget").focus()
    for _ in widget.steps[1:12]:
        press(page, "ArrowRight")
        assert page.evaluate(PLACES)[2][0] == pytest.approx(picture, abs=1)


def test_paper_keeps_the_names_and_numbers_and_the_questions_are_numbered(visit, saved):
    """Names and numbers that were buttons were lost, a column was cut, and a quiz ended in "open open open open"."""

    def printed(name):
        page = visit(saved(name)[1], viewport={"width": 794, "height": 1123}, reduced_motion="reduce").page
        page.locator(".mg-widget").wait_for()
        page.emulate_media(media="print")
        return page

    memory = printed("MemoryTimeline").locator(".mg-table button")
    assert memory.count() > 6
    assert all(each.is_visible() for each in memory.all())
    descent = printed("GradientDescent").locator(".mg-steps")
    assert descent.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert descent.locator("tbody tr:visible").count() <= 10 < descent.locator("tbody tr").count()
    quiz = printed("Quiz")
    assert "open" not in quiz.locator(".mg-widget").inner_text().split()
    number = "each => getComputedStyle(each, '::before').content"
    assert quiz.locator(".mg-fields > legend").first.evaluate(number).startswith("counter")


def test_paper_has_no_buttons_and_nothing_that_scrolls(visit, saved):
    page = visit(saved("MemoryTimeline")[1], viewport={"width": 720, "height": 1000}).page
    page.emulate_media(media="print")
    try:
        assert page.locator(":is(.mg-widget button:not(.mg-table *), input[type=range]):visible").count() == 0
        scrolling = (
            "parts => parts.filter((part) => ['auto', 'scroll'].includes(getComputedStyle(part).overflowX)).length"
        )
        assert page.locator(".mg-widget *").evaluate_all(scrolling) == 0
    finally:
        page.emulate_media(media="screen")


LOOKS = """() => [...document.querySelectorAll(".mg-widget, .mg-widget *")].map((part) => {
  const style = getComputedStyle(part);
  const names = [...style].filter((name) => !name.startsWith("--"));
  return part.tagName + names.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; ");
})"""


@pytest.mark.parametrize("name", WIDGETS)
def test_no_widget_looks_otherwise_where_all_others_are(visit, saved, name):
    """JupyterLab keeps the style sheet of every widget that was shown, in any notebook."""
    sheets = "\n".join({saved(other)[0]._css for other in WIDGETS})
    alone = saved(name)[1]
    together = alone.with_stem("together")
    together.write_text(alone.read_text().replace("</style>", f"{sheets}</style>", 1))

    pages = [visit(path, reduced_motion="reduce").page for path in (together, alone)]
    assert pages[0].evaluate(LOOKS) == pages[1].evaluate(LOOKS)
