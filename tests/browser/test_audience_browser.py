"""A room that votes: the page on a phone, and the lecturer's, which may be projected."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import press
from tests.course.test_audience import BOXES, WAY

HOSTILE = {**WAY, "name": "hostile", "text": "<img src=x onerror=alert(1)> `code`?", "options": ["<b>up</b>", "down"]}
ORDER = {"name": "order", "text": "In which order?", "kind": "order", "options": ["backward", "step", "zero_grad"]}
SHAPE = {"name": "shape", "text": "Which shape?", "kind": "shape"}


def phone_page(hall, pages, **context):
    size = {"width": 360, "height": 640}
    return pages.visit(f"{hall.url}/#{hall.audience.code}", alone=True, viewport=size, **context)


def test_a_phone_answers_each_kind_of_question_by_keyboard(hall, pages):
    visit = phone_page(hall, pages)
    page, say = visit.page, visit.page.locator(".mg-say")
    expect(page.locator("#say")).to_have_text("Wait for the first question.")
    for question, keys in (
        (BOXES, ["4", "Tab", "Space"]), (HOSTILE, ["Space", "Tab", "Space"]), (SHAPE, ["2", "x", "3", "Tab", "Space"]),
        (ORDER, ["Enter", *["Tab"] * 6, "Space"]),
    ):  # fmt: skip
        hall.ask({**question, "shows": []})
        expect(page.locator("legend")).to_have_text(question["text"].replace("`", ""))
        page.locator("fieldset input, fieldset button").first.focus()
        press(page, *keys, "Tab", "Enter")
        expect(say).to_have_text("Counted. Look at the screen.")
        expect(page.locator(".mg-question button").last).to_be_disabled()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    answers = [poll.rounds[0].popitem()[1][0] for poll in hall.audience.room.polls]
    assert answers == [4, "<b>up</b>", [2, 3], ["backward", "step", "zero_grad"]]


def test_a_phone_reconnects_keeps_its_vote_and_votes_again(hall, pages):
    hall.ask()
    page = phone_page(hall, pages).page
    page.get_by_role("textbox").last.fill("4")
    page.get_by_role("radio", name="certain").check()
    page.context.set_offline(True)
    page.get_by_role("button", name="Lock").click()
    page.context.set_offline(False)
    expect(page.locator(".mg-say")).to_have_text("Counted. Look at the screen.")
    page.reload()
    expect(page.get_by_role("textbox").last).to_have_value("4")
    hall.do(do="close")
    hall.do(do="open")
    expect(page.get_by_role("button", name="Lock")).to_be_enabled()
    assert hall.do()["answered"] == [1, 0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_lecturer_shows_two_votes_side_by_side(hall, pages, scheme):
    lecturer = pages.visit(f"{hall.url}/lecturer#{hall.audience.token}", color_scheme=scheme)
    page = lecturer.page
    expect(page.get_by_role("img")).to_be_visible()  # the code to scan
    hall.ask(HOSTILE)
    phones = [hall.phone() for _ in range(5)]
    for phone in phones:
        hall.vote(phone, "down", "certain")
    expect(page.locator("#count")).to_contain_text("5 answered, 5 phones")
    page.get_by_role("button", name="Close the vote").click()
    page.get_by_role("button", name="Vote again").click()
    expect(page.get_by_role("button", name="Close the vote")).to_be_enabled()
    for phone in phones:
        hall.vote(phone, "<b>up</b>", round=2)
    expect(page.locator("tbody tr")).to_have_count(0)
    page.get_by_role("button", name="Show the answers").click()
    expect(page.locator("tbody tr")).to_have_text(["<b>up</b> 0 5", "down 5 0"])
    hall.do(do="reveal", name="hostile", right="down")
    expect(page.locator("tr.right")).to_contain_text("down ✓")
    seats = phone_page(hall, pages, color_scheme=scheme)
    expect(seats.page.locator(".mg-say")).to_have_text("This vote is closed.")
    assert lecturer.violations("html") + seats.violations("html") == []


def test_the_code_of_the_room_is_typed_where_none_was_scanned(hall, pages):
    page = pages.visit(hall.url, alone=True).page
    expect(page.locator("#say")).to_have_text("The code is on the screen, below the address.")
    page.get_by_label("Code of the room").fill(hall.audience.code.lower())
    page.keyboard.press("Enter")
    expect(page.locator("#say")).to_have_text("Wait for the first question.")
