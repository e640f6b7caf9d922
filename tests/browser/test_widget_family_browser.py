"""What holds for every widget on a screen: keys, themes, small screens, no motion, and how soon it answers."""

import pytest
from examples.widgets import WIDGETS
from playwright.sync_api import expect

import minigrad as mg
from minigrad.draw.words import number
from minigrad.widgets import ChainRule
from minigrad.widgets.widget import javascript

# Presses a key, and says how many milliseconds later the screen was another: written to, and painted.
TIMED = """async (key) => {
  const widget = document.querySelector(".mg-widget");
  const start = performance.now();
  widget.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const changed = performance.now() - start;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return [changed, performance.now() - start];
}"""
STEPPED = [name for name, make in WIDGETS.items() if hasattr(make(), "index")]
TIMES = 20


@pytest.fixture(params=WIDGETS)
def page_of(request, tmp_path):
    path = tmp_path / f"{request.param}.html"
    WIDGETS[request.param]().save(path)
    return path


@pytest.fixture
def page_of_nothing(tmp_path):
    path = tmp_path / "nothing.html"
    path.write_text("<!DOCTYPE html><title>nothing</title>")
    return path


@pytest.mark.parametrize("name", STEPPED)
def test_keys_go_to_the_end_and_the_same_way_back(visit, tmp_path, name):
    path = tmp_path / "page.html"
    widget = WIDGETS[name]()
    widget.save(path)
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


@pytest.mark.parametrize("digits", [3, 4])
def test_the_browser_writes_numbers_as_python_does(visit, page_of_nothing, digits):
    xs = [s * m * 10.0**e for s in (1, -1) for m in (1, 1.2, 2.5, 9.8764, 9.99999) for e in range(-9, 10)]
    xs += [
        n / 64 * 2.0**e for n in (421, 423, -133) for e in range(-3, 14)
    ]  # half-way between two numbers, some of them
    page = visit(page_of_nothing).page

    program = f"([xs, digits]) => {{ {javascript('number')} return xs.map((x) => number(x, digits)); }}"
    said = page.evaluate(program, [[0.0, *xs], digits])

    assert said == [number(x, digits) for x in [0.0, *xs]]


def drawn(page):
    """What is on the screen, without what moves."""
    return page.locator(".mg-widget .mg-view").evaluate_all("views => views.map(view => view.innerText)")


def test_axe_finds_nothing_in_either_theme_on_a_small_screen(visit, page_of):
    for scheme in ("light", "dark"):
        opened = visit(page_of, color_scheme=scheme, reduced_motion="reduce", viewport={"width": 420, "height": 800})
        opened.page.locator(".mg-widget").first.focus()
        for _ in range(3):
            opened.page.keyboard.press("ArrowRight")
        assert opened.violations("html") == []


def test_on_a_phone_and_at_double_size_the_page_does_not_scroll_sideways(visit, page_of):
    for width, scale in ((360, 1), (640, 2)):  # a window of 1280 at 200 % shows 640 pixels
        page = visit(page_of, viewport={"width": width, "height": 700}, device_scale_factor=scale).page
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        for button in page.locator(".mg-widget button:visible").all():
            assert button.bounding_box()["height"] >= 24  # WCAG 2.2, target size


@pytest.mark.parametrize("name", WIDGETS)
def test_a_reader_without_javascript_has_the_text(browser, tmp_path, name):
    widget = WIDGETS[name]()
    widget.save(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    said = page.locator("noscript").text_content()
    context.close()
    assert said == widget.text


def test_two_widgets_of_a_kind_on_one_page_have_no_id_in_common_with_anything(visit, page_of):
    page = visit(page_of).page
    assert page.evaluate("() => document.querySelectorAll('.mg-widget [id]').length") == 0


def test_a_view_that_is_taken_down_leaves_nothing_behind(visit, page_of):
    """Its timers and listeners go with it: a change of the model then raises no error."""
    page = visit(page_of).page
    page.evaluate(
        """async () => {
          const source = [...document.scripts].find((s) => s.type === "module").textContent;
          const state = JSON.parse(document.getElementById("state").textContent);
          const heard = new Map();
          const model = {
            get: (key) => state[key], set: () => {}, save_changes: () => {}, send: () => {},
            on: (event, tell) => heard.set(event + tell, 1), off: (event, tell) => heard.delete(event + tell),
          };
          const widgetAlone = source.slice(0, source.indexOf("const state = JSON.parse")) + ";export default widget;";
          const address = URL.createObjectURL(new Blob([widgetAlone], { type: "text/javascript" }));
          const { default: widget } = await import(address);
          const el = document.createElement("div");
          document.body.append(el);
          const takeDown = widget.render({ model, el });
          takeDown();
          if (heard.size) throw new Error(`still listening: ${[...heard.keys()]}`);
          if (el.children.length) throw new Error("still on the page");
        }"""
    )


@pytest.mark.parametrize("boxes", [20, 60])
def test_how_soon_a_step_is_seen(visit, tmp_path, record_property, boxes):
    x = y = mg.Value(1.0)
    for _ in range((boxes - 1) // 2):
        y = y.tanh() + x
    path = tmp_path / "page.html"
    ChainRule(y).save(path)
    page = visit(path).page
    times = sorted(page.evaluate(TIMED, "ArrowRight") for _ in range(TIMES))
    changed, painted = times[TIMES // 2]
    record_property("latency", f"ChainRule, {boxes} boxes: changed {changed:.1f}, painted {painted:.0f}")
    expect(page.locator(".mg-widget")).to_have_attribute("data-step", str(TIMES))


def commented(x):
    return x * 2  # <!--<script>, </script> and <b>


def test_a_page_works_whatever_the_code_has_in_it(visit, tmp_path):
    path = tmp_path / "page.html"
    mg.widgets.StaticVsDynamic(commented, mg.tensor(1.0)).save(path)
    page = visit(path).page
    assert page.locator(".mg-code span").nth(1).text_content() == "    return x * 2  # <!--<script>, </script> and <b>"


def test_names_and_arguments_are_words_and_no_html(visit, tmp_path):
    path = tmp_path / "page.html"
    arguments = ["</option></select><img src=x>", 'a "quoted" <b> & one']
    f = lambda x, words: x * 2  # noqa: E731  # its name, <lambda>, has the look of a tag
    mg.widgets.StaticVsDynamic(f, cases=[(mg.tensor(1.0), words) for words in arguments]).save(path)
    page = visit(path).page

    assert page.locator("#widget :is(img, b, lambda)").count() == 0
    assert page.locator(".mg-title").first.text_content() == "def <lambda>"
    assert page.locator(".mg-panel").first.get_attribute("aria-label") == "def <lambda>"
    assert page.locator("[data-choice] option").all_text_contents() == [f"1 and {words!r}" for words in arguments]


def test_a_table_does_not_touch_the_buttons_below_it(visit, tmp_path):
    path = tmp_path / "page.html"
    WIDGETS["MemoryTimeline"]().save(path)
    page = visit(path, viewport={"width": 420, "height": 800}).page
    table, controls = (page.locator(each).last.bounding_box() for each in (".mg-panels", ".mg-controls"))

    assert controls["y"] - (table["y"] + table["height"]) >= 6


LOOKS = """() => [...document.querySelectorAll(".mg-widget, .mg-widget *")].map((part) => {
  const style = getComputedStyle(part);
  const names = [...style].filter((name) => !name.startsWith("--"));
  return part.tagName + names.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; ");
})"""


def test_no_widget_looks_otherwise_where_all_others_are(visit, page_of):
    """JupyterLab keeps the style sheet of every widget that was shown, in any notebook."""
    sheets = "\n".join({make()._css for make in WIDGETS.values()})
    alone = page_of.read_text()
    together = page_of.with_stem("together")
    together.write_text(alone.replace("</style>", f"{sheets}</style>", 1))

    assert visit(together).page.evaluate(LOOKS) == visit(page_of).page.evaluate(LOOKS)
