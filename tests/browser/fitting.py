"""Whether a picture is seen whole; or says that it is not, in text that can be read."""

from __future__ import annotations

from playwright.sync_api import Page

SMALLEST = 9  # pixels of text
CUT = """smallest => [...document.querySelectorAll("svg.mg-picture")].flatMap((svg) => {
  const view = svg.closest(".mg-view") ?? svg, widget = svg.closest(".mg-widget");
  const frame = view.getBoundingClientRect(), named = widget.getAttribute("aria-label");
  if (!frame.width || !svg.checkVisibility()) return [];
  const outside = [...svg.querySelectorAll("rect, circle, text")].filter((part) => {
    const { left, right, width } = part.getBoundingClientRect();
    const seen = width && part.checkVisibility({ visibilityProperty: true });
    return seen && (left < frame.left - 1 || right > frame.right + 1);
  }).length;
  const sizes = [...svg.querySelectorAll("text:not(.mg-cell text)")].filter((text) => text.textContent)
    .map((text) => [parseFloat(getComputedStyle(text).fontSize), text.getScreenCTM()])
    .map(([size, { a, b }]) => size * Math.hypot(a, b));
  const says = getComputedStyle(view, "::before").content + widget.querySelector(".mg-say").textContent;
  const found = [];
  if (outside && !/scroll sideways|Drag/.test(says)) found.push(`${outside} parts are cut off, and nothing says so`);
  if (outside && view !== svg && view.tabIndex !== 0) found.push("scrolls, and no key gets there");
  if (Math.min(...sizes) < smallest - 0.05) found.push(`text of ${Math.min(...sizes).toFixed(1)} pixels`);
  return found.map((what) => `${named}: ${what}`);
})"""
SCROLLED = """() => [...document.querySelectorAll(".mg-widget")].filter((widget) =>
  /Drag/.test(widget.querySelector(".mg-say")?.textContent) || widget.querySelector("[data-scrolls] svg.mg-picture")
).map((widget) => widget.getAttribute("aria-label").split(".")[0])"""


def cut(page: Page) -> list[str]:
    """What is cut off without a word, or too small to be read."""
    return page.evaluate(CUT, SMALLEST)


def settle(page: Page) -> None:
    """Wait until nothing is cut off for 30 frames in a row, but at most 600: a picture is hidden while redrawn."""
    page.evaluate(
        f"""async (smallest) => {{
      for (let frame = 0, whole = 0; frame < 600 && whole < 30; frame++) {{
        await new Promise(requestAnimationFrame);
        whole = ({CUT})(smallest).length ? 0 : whole + 1;
      }}
    }}""",
        SMALLEST,
    )


def scrolled(page: Page) -> list[str]:
    """The widgets whose pictures are not seen whole, and say so."""
    return page.evaluate(SCROLLED)
