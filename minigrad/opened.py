"""The sessions whose `with` blocks are open in this thread: the innermost is meant where none is named."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .errors import GraphError

if TYPE_CHECKING:
    from .graph.session import Session


class Opened(threading.local):
    """Of this thread: the sessions whose blocks are open, the innermost last."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []


opened = Opened()


def get_default_session() -> Session | None:
    """The session whose block is open."""
    return opened.sessions[-1] if opened.sessions else None


def session_or_default(session: Session | None) -> Session:
    """The session, or the one whose block is open. Raises GraphError where there is none."""
    found = get_default_session() if session is None else session
    if found is None:
        raise GraphError("no session is open: pass one, or write `with mg.Session(graph) as session:` around it")
    return found
