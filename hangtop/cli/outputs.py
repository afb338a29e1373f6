"""Standard output and error of a command, so that writing to them never ends it."""

from __future__ import annotations

import codecs
import io
import os
import sys

from hangtop.common.text import ascii_only


def prepare() -> None:
    """A closed stdout or stderr becomes the null device: an exit code is still wanted. A sign that the encoding lacks gets a
    stand-in: output must never end an action halfway."""
    codecs.register_error("hangtop.signs", _stand_in)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open to the end
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="hangtop.signs")


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    """Python's protocol of an encoding error handler: (replacement, where to go on)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return ascii_only(error.object[error.start : error.end]), error.end
