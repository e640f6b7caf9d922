"""Drawing graphs: engine → picture (plain data) → text, SVG, widgets."""

from .drawing import Drawing as Drawing
from .drawing import draw as draw
from .layout import LayoutError as LayoutError
