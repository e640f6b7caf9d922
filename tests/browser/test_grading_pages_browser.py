"""The pages that grading writes: as wide as the screen, whoever is in the class, and nothing in them but text."""

import pytest

from minigrad.course.grading import pages
from tests.course.grading.test_batch import result

IMG = "<img src=x onerror=alert(1)>"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenträgerin" * 3
CLASS = [
    *(result(f"s{i}", 2 * (i % 2), shows="" if i % 2 else "takes it for a sum") for i in range(10)),
    result(LONG, 0, "crashed", name=f"{LONG} O'Brien", notes=[f"Cell 'extra': ValueError: {'x' * 400}"]),
    result(IMG, 0, "unreadable", state="wait", name=IMG, notes=[f"the file is no notebook: {IMG}"]),
    result("very/long/" * 30, 0, "failed", state="wait", name=LONG, notes=["Nothing could be looked at."]),
]


@pytest.fixture(params=["light", "dark"])
def opened(request, visit, tmp_path):
    def open_page(text):
        path = tmp_path / "page.html"
        path.write_text(text, "utf-8")
        return visit(path, viewport={"width": 420, "height": 800}, color_scheme=request.param)

    return open_page


def test_the_class_fits_on_a_narrow_screen(opened):
    visit = opened(pages.class_report(CLASS, {}))
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 420
    assert visit.page.locator("img, script, iframe, a:not([href^='feedback/'])").count() == 0
    assert visit.page.locator("a").count() == len(CLASS)
    assert visit.page.get_by_text("Without a score yet: 2.").is_visible()
    assert visit.violations("main") == []


@pytest.mark.parametrize("mine", CLASS[-3:], ids=["crashed", "unreadable", "failed"])
def test_a_students_page_fits_on_a_narrow_screen(opened, mine):
    visit = opened(pages.feedback(mine, "The scalar engine"))
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 420
    assert visit.page.locator("img, script, a, iframe").count() == 0
    assert visit.violations("main") == []
