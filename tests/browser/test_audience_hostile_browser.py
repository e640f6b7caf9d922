"""A phone in a room that votes, when things go wrong: an old browser, a room that begins again, a vote opened again."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_audience_browser import phone_page
from tests.course.test_audience import BOXES, server


def test_a_vote_that_is_opened_again_before_anybody_voted_takes_answers(hall, pages):
    """It was the same round, so the form kept what it had: "This vote is closed.", and nothing to press."""
    hall.ask()
    page = phone_page(hall, pages).page
    page.get_by_role("textbox").last.fill("4")
    hall.do(do="close")
    expect(page.locator(".mg-say")).to_have_text("This vote is closed.")
    hall.do(do="open")
    expect(page.get_by_role("textbox").last).to_be_enabled()
    expect(page.get_by_role("textbox").last).to_have_value("4")
    page.get_by_role("radio", name="certain").check()
    page.get_by_role("button", name="Lock").click()
    expect(page.locator(".mg-say")).to_have_text("Counted. Look at the screen.")


@pytest.mark.parametrize("way", ["typed", "scanned"])
def test_a_page_of_an_earlier_room_shows_the_question_of_this_one(hall, pages, tmp_path, way):
    """Both questions were the first of their room: the form of the old one stayed, and its answer went to the new."""
    hall.ask()
    page = phone_page(hall, pages).page
    expect(page.locator("legend")).to_have_text("How many <b>boxes</b>?")
    hall.audience.code, hall.audience.room = "C0FFEE", server.Room()
    hall.ask({**BOXES, "name": "wires", "text": "How many wires?"})
    if way == "typed":
        hall.audience.changed.set()
        page.get_by_label("Code of the room").fill("c0ffee")
        page.keyboard.press("Enter")
    else:
        page.goto(f"{hall.url}/#C0FFEE")
    expect(page.locator("legend")).to_have_text("How many wires?")


def test_a_phone_of_2021_gets_the_question(hall, pages):
    """AbortSignal.timeout came with iOS 16: older phones said "No connection" for ever."""
    hall.ask()
    visit = phone_page(hall, pages)
    visit.page.add_init_script("delete AbortSignal.timeout; delete Array.prototype.at; delete structuredClone")
    visit.page.reload()
    expect(visit.page.locator("legend")).to_have_text("How many <b>boxes</b>?")
