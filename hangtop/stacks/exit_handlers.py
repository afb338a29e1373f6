"""Functions that a program calls at its exit, by its source. Pure."""

from __future__ import annotations

import re

from hangtop.records.stack import Frame


def runs_at_exit(source: str, frame: Frame) -> bool:
    """Whether this source gives the function of the frame to `atexit.register`, as an argument or by the decorator."""
    name = re.escape(frame.name)
    return re.search(rf"\batexit\.register\(\s*(?:[\w.]+\.)?{name}\b|@atexit\.register\s*\n\s*def {name}\(", source) is not None
