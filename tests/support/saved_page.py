"""The data of a widget's saved page."""

import re
import zlib
from base64 import b64decode


def page_state(page: str) -> str:
    """The widget's traits, as JSON."""
    return zlib.decompress(b64decode(re.search(r'id="state">(.*?)</script>', page)[1])).decode()
