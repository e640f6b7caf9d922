"""An eager run beside a static graph, on the screen: stepped, chosen, pressed; the screen says what the engine did."""

from __future__ import annotations

from inspect import getsource

from playwright.sync_api import Locator, expect

from tests.browser.conftest import press

WIDGET = "film = mg.widgets.StaticVsDynamic(f, cases=[(mg.tensor(1.0),), (mg.tensor(2.0),)])\nfilm"


def f(x):
    print("called")
    y = x * 2
    if y > 3:
        z = y + 1
    else:
        z = y.exp() * x
    return z * z


PROGRAM = f"import minigrad as mg\n\n{getsource(f)}"


def values(film: Locator, side: str) -> list[str]:
    """The values that can be seen on a side."""
    boxes = film.locator(f'[data-id^="{side}b"]:not(.mg-hidden)').all()
    return [box.locator(".mg-value").text_content() for box in boxes]


def test_a_learner_steps_a_function_both_ways_in_jupyterlab(lab):
    notebook = lab.open_cells(PROGRAM, WIDGET, "film")
    notebook.run_all()
    page = notebook.page
    film, second_view = page.locator(".mg-widget").nth(0), page.locator(".mg-widget").nth(1)
    film.focus()

    assert values(film, "l") == ["1"]
    assert values(film, "r") == []
    press(page, "ArrowRight", times=3)
    expect(film.locator(".mg-say")).to_contain_text("On the left this line computes 2; on the right it adds 1 box.")
    expect(film.locator('[data-id="left says"]')).to_have_text("called\n")
    expect(film.locator(".mg-code .mg-hot")).to_have_text("    y = x * 2")
    assert sorted(values(film, "l")) == ["1", "2", "2"]
    assert set(values(film, "r")) == {"·", "2"}

    press(page, "End")
    expect(film).to_have_attribute("data-phase", "done | run")
    told = notebook.kernel("print(f'{f(mg.tensor(1.0)).item():.4g}')").splitlines()[-1]
    assert values(film, "l")[-1] == values(film, "r")[-1] == told
    press(page, "ArrowLeft", times=2)
    assert values(film, "r")[-1] == "·"

    # The other input: the same graph, and on the left another one. The other view and the kernel follow.
    film.get_by_label("input").select_option("2")
    expect(second_view.get_by_label("input")).to_have_value("1")
    assert notebook.told("print(film.choice)", "[1]")
    film.focus()
    press(page, "End")
    assert values(film, "l")[-1] == values(film, "r")[-1] == "25"

    # A line and its boxes light up together, by mouse and by key.
    film.locator('.mg-code [role="button"]', has_text="y = x * 2").click()
    assert film.locator("g.mg-linked").count() == 2
    page.keyboard.press("Enter")
    assert film.locator(".mg-linked").count() == 0
    assert page.evaluate("() => [...document.querySelectorAll('.mg-widget [id]')].length") == 0
