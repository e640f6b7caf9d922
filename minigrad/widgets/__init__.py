"""Widgets: one .py of traits, one .js of drawing and one .css of looks each, over the plain data of `minigrad.draw`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .chain_rule import ChainRule as ChainRule


def __getattr__(name: str) -> object:
    if name == "ChainRule":  # imported when asked for, because anywidget is slow to import
        from .chain_rule import ChainRule

        return ChainRule
    raise AttributeError(f"minigrad.widgets has ChainRule, and no {name!r}")
