"""The page of lesson 25: the model that is served goes on where one's text ends."""

import json
from importlib.resources import files

import numpy as np
import pytest
from playwright.sync_api import expect

import minigrad as mg
from minigrad.files.serving.batcher import BatchLimits
from minigrad.files.serving.command import configuration
from minigrad.files.serving.repository import Repository
from tests.browser.conftest import press
from tests.browser.listening import listening

LETTERS = [*"abc "]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Of a model that sees eight letters: after a comes b, then c, then a space, then a."""
    folder = tmp_path_factory.mktemp("models")
    after = mg.tensor(50 * np.roll(np.eye(4, dtype="f4"), 1, axis=1))
    mg.save(folder / "next.mg", mg.function(lambda x: after[x]), mg.TensorSpec((None, 8), mg.int64))
    page = files("minigrad.files.serving").joinpath("write.html").read_text("utf-8")
    (folder / "page.html").write_text(page.replace("__LETTERS__", json.dumps(LETTERS)), "utf-8")
    repository = Repository(folder / "next.mg", BatchLimits())
    with listening(configuration(repository, poll=60, page=folder / "page.html")) as url:
        yield url


@pytest.fixture
def opened(address, pages):
    """Opens the page; at the end nothing outside this machine was asked, and nothing went wrong."""

    def open_page(**context):
        visit = pages.visit(address, **context)
        expect(visit.page.get_by_role("button", name="Write on")).to_be_enabled()
        return visit

    return open_page


def test_it_goes_on_where_the_text_ends_and_sees_no_more_than_its_length(opened):
    page = opened().page
    page.get_by_label("Letters").fill("6")
    for text, added in [("a", "bc abc"), ("abc abc abc ab", "c abc ")]:
        page.get_by_label("Text").fill(text)
        page.get_by_role("button", name="Write on").click()
        expect(page.get_by_role("status")).to_have_text(f"6 letters were written: {added}".rstrip())
        expect(page.get_by_label("Text")).to_have_value(text + added)


def test_keys_alone_write_and_end_it(opened):
    page = opened(color_scheme="dark").page
    press(page, "Tab", "Control+A")
    page.keyboard.type("ab")
    page.get_by_label("Letters").fill("1000")
    page.get_by_label("Text").focus()
    press(page, "Tab", "Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.wait_for_function("() => document.querySelector('#text').value.startsWith('abc abc')")
    page.keyboard.press("Enter")

    expect(page.get_by_role("status")).to_contain_text("letters were written: c abc")
    assert 7 <= len(page.get_by_label("Text").input_value()) < 1000
    expect(page.get_by_role("button", name="Write on")).to_be_focused()


def test_a_letter_that_the_model_never_saw_is_named(opened):
    page = opened().page
    for text, told in [("aß", "The model has never seen ß"), ("", "Begin with a letter.")]:
        page.get_by_label("Text").fill(text)
        page.get_by_role("button", name="Write on").click()
        expect(page.get_by_role("status")).to_have_text(told)
        expect(page.get_by_label("Text")).to_have_value(text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out_on_a_phone_either(opened, scheme):
    visit = opened(color_scheme=scheme, viewport={"width": 320, "height": 700})
    visit.page.get_by_label("Text").fill("a?")
    visit.page.get_by_role("button", name="Write on").click()
    expect(visit.page.get_by_role("status")).to_contain_text("never seen ?")

    assert visit.violations("html") == []
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
