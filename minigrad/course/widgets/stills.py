"""A film's screen at one step as a still picture, for where nothing can be stepped."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from .widget import Plain

SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)


def compact(svg: str) -> str:
    """The SVG without double quotes and newlines, which JSON escapes: pages become a tenth smaller."""
    return svg.replace("\n", "").replace('"', "'").replace(".00'", "'").replace(".0'", "'")


def still(svg: str, steps: Sequence[Plain]) -> ElementTree.Element:
    """The picture after these steps of a film, as film.js shows it. Classes that a step takes off are not read."""
    drawn, last = ElementTree.fromstring(svg), steps[-1:]
    added = [(f" mg-{look}", ids) for step in steps for look, ids in step.get("on", {}).items()]
    added += [(f" mg-{look}", ids) for step in last for look, ids in step.get("hot", {}).items()]
    texts = {id: words for step in steps for id, words in step.get("text", {}).items()}
    for part in drawn.iterfind(".//*[@data-id]"):
        id = part.attrib["data-id"]
        part.set("class", part.get("class", "") + "".join(look for look, ids in added if id in ids))
        place = next((each for each in part if "mg-value" in each.get("class", "")), part)
        place.text = texts.get(id, place.text)
    return drawn


def side_by_side(svgs: Sequence[str], steps: Sequence[Plain], looks: str) -> str:
    """The pictures after these steps, next to each other in one SVG with its CSS."""
    stills = [still(svg, steps) for svg in svgs]
    wide, high = [float(each.attrib["width"]) for each in stills], max(float(each.attrib["height"]) for each in stills)
    for n, each in enumerate(stills):
        each.set("x", f"{sum(wide[:n]) + 16 * n:g}")
    size = f"{sum(wide) + 16 * (len(wide) - 1):g}", f"{high:g}"
    frame = f'width="{size[0]}" height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}"'
    inner = "".join(ElementTree.tostring(each, "unicode") for each in stills)
    return f'<svg xmlns="{SVG}" class="mg-picture" role="img" {frame}><style>{looks}</style>{inner}</svg>'
