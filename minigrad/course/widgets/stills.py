"""A film's picture at one step as a static picture, for pages that cannot step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from .widget import Plain

ElementTree.register_namespace("", "http://www.w3.org/2000/svg")


def compact(svg: str) -> str:
    """The SVG without double quotes and newlines, which JSON escapes: pages become a tenth smaller."""
    return svg.replace("\n", "").replace('"', "'").replace(".00'", "'").replace(".0'", "'")


def state_after(steps: Sequence[Plain]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The state that film.js shows after these steps: id → text, id → CSS classes."""
    texts, looks = dict[str, str](), dict[str, list[str]]()
    for step in steps:
        texts |= step.get("text", {})
        marks = [step.get("on", {}), step.get("hot", {}) if step is steps[-1] else {}]
        for look, ids in ((look, ids) for each in marks for look, ids in each.items()):
            for id in ids:
                looks.setdefault(id, []).append(look)
        for look, ids in step.get("off", {}).items():
            looks |= {id: [each for each in looks.get(id, []) if each != look] for id in ids}
    return texts, looks


def still(svg: str, texts: Mapping[str, str], looks: Mapping[str, Sequence[str]]) -> str:
    """The picture with these texts and CSS classes of its parts."""
    drawn = ElementTree.fromstring(svg)
    for part in drawn.iterfind(".//*[@data-id]"):
        id = part.attrib["data-id"]
        part.set("class", " ".join([part.get("class", ""), *(f"mg-{look}" for look in looks.get(id, []))]))
        place = next((each for each in part if "mg-value" in each.get("class", "")), part)
        place.text = texts.get(id, place.text)
    return ElementTree.tostring(drawn, "unicode")
