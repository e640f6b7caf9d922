"""The page of `minigrad serve`: a digit that is drawn, by hand or with keys, is read by the model that is served."""

import math

import numpy as np
import pytest
from playwright.sync_api import expect

import minigrad as mg
from minigrad.data import digits
from minigrad.files.serving.batcher import BatchLimits
from minigrad.files.serving.command import configuration
from minigrad.files.serving.repository import Repository
from tests.browser.conftest import press
from tests.browser.listening import listening

ZERO = [[(140 + 60 * math.cos(t / 10), 140 + 90 * math.sin(t / 10)) for t in range(64)]]
FOUR = [[(170, 235), (170, 45), (80, 165), (210, 165)]]
SEVEN = [[(80, 60), (200, 60), (120, 230)]]


def trained():
    """A network that reads 8 by 8 pixels, and gives logits."""
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 64), mg.nn.ReLU(), mg.nn.Linear(64, 10)).float()
    optimizer = mg.optim.Adam(net.parameters(), lr=0.01)
    x, y = mg.tensor(digits().train_x.astype("f4")), mg.tensor(digits().train_y)
    for _ in range(100):
        optimizer.zero_grad()
        mg.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return net


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    mg.save(folder / "digits.mg", trained(), mg.TensorSpec((None, 64), mg.float32))
    mg.save(folder / "names.mg", mg.function(lambda x: x + 1), mg.TensorSpec((None, 5), mg.int64))
    with listening(configuration(Repository(folder, BatchLimits()), poll=60)) as url:
        yield url


@pytest.fixture
def opened(address, pages):
    """Opens the page; at the end nothing outside this machine was asked, and nothing went wrong."""

    def open_page(**context):
        visit = pages.visit(address, **context)
        expect(visit.page.locator("#size")).to_contain_text("8 by 8")
        return visit

    return open_page


def draw(page, strokes):
    box = page.locator("#drawing").bounding_box()
    for first, *others in strokes:
        page.mouse.move(box["x"] + first[0], box["y"] + first[1])
        page.mouse.down()
        for x, y in others:
            page.mouse.move(box["x"] + x, box["y"] + y)
        page.mouse.up()


def test_what_is_drawn_is_read_and_cleared(opened):
    page = opened().page
    for strokes, digit in [(ZERO, 0), (FOUR, 4), (SEVEN, 7)]:
        draw(page, strokes)
        expect(page.locator("#answer")).to_contain_text(f"It reads {digit}, ")
        expect(page.locator("tbody tr")).to_have_count(10)
        page.click("#clear")
        expect(page.locator("#answer")).to_be_empty()


def test_the_shares_are_those_of_the_model_for_what_it_is_said_to_see(opened):
    visit = opened()
    with visit.page.expect_response("**/infer") as asked:
        draw(visit.page, [[(100, 140), (180, 140)]])
    reply = asked.value
    seen = np.array(reply.request.post_data_json["inputs"][0]["data"]).reshape(8, 8)
    logits = np.array(reply.json()["outputs"][0]["data"])
    shares = np.exp(logits) / np.exp(logits).sum()

    # A stroke 80 long and 26 wide with round ends, fitted into 8 by 8: as wide as all, and 2 rows high, in the middle.
    np.testing.assert_allclose(seen, seen[::-1], atol=0.05)
    np.testing.assert_allclose(seen, seen[:, ::-1], atol=0.05)
    assert seen[3:5, 2:6].min() > 0.9
    assert seen[:2].max() == 0
    np.testing.assert_allclose(seen.sum() * (106 / 8) ** 2, 80 * 26 + math.pi * 13**2, rtol=0.02)
    shown = visit.page.locator("tbody td:nth-child(2)")
    expect(shown).to_have_text([f"{100 * share:.1f} %" for share in shares])


def test_keys_alone_draw_a_one_and_say_where_the_pen_is(opened):
    page = opened(color_scheme="dark").page
    press(page, "Tab", "Tab", *["ArrowRight"] * 5, "Space", *["ArrowDown"] * 9, "Space")

    expect(page.locator("#answer")).to_contain_text("It reads 1, ")
    expect(page.locator("#told")).to_have_text("Pen up, column 7 of 13, row 11 of 13")
    page.keyboard.press("Delete")
    expect(page.locator("#answer")).to_be_empty()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(opened, scheme):
    visit = opened(color_scheme=scheme)
    draw(visit.page, FOUR)
    expect(visit.page.locator("#answer")).to_contain_text("It reads")

    assert visit.violations("html") == []
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_strokes_follow_the_theme_and_the_page_fits_a_phone(opened):
    page = opened(viewport={"width": 320, "height": 700}).page
    draw(page, FOUR)
    pixel = "() => [...document.querySelector('#drawing').getContext('2d').getImageData(170, 150, 1, 1).data]"
    light = page.evaluate(pixel)
    page.emulate_media(color_scheme="dark")

    page.wait_for_function(f"() => String(({pixel})()) !== '{','.join(map(str, light))}'")
    assert (light[0] < 80, page.evaluate(pixel)[0] > 200) == (True, True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_model_that_reads_no_pictures_says_what_it_takes(opened):
    page = opened().page
    page.select_option("#model", "names")

    expect(page.locator("#size")).to_contain_text("names takes no square picture")
    expect(page.locator("#size")).to_contain_text("INT64")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_api_can_be_read_and_tried_in_the_browser(address, pages, scheme):
    pytest.importorskip("swagger_ui_bundle", reason="Swagger UI's files are in the extra `serve`")
    page = pages.visit(f"{address}/docs", color_scheme=scheme).page
    expect(page.get_by_text("minigrad serve").first).to_be_visible()
    expect(page.locator(".opblock")).to_have_count(17)
    asking = page.locator("#operations-v1-v1_models__name__predict")
    asking.locator("button.opblock-summary-control").click()
    asking.get_by_role("button", name="Try it out").click()
    asking.get_by_placeholder("name").fill("digits")
    with page.expect_response("**/v1/models/digits:predict") as asked:
        asking.get_by_role("button", name="Execute").click()
    assert len(asked.value.json()["outputs"][0]) == 10
