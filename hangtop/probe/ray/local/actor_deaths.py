"""Why an actor is dead: Ray's `exitDetail` text, taken apart. Pure. Texts: src/ray/gcs/gcs_actor_manager.cc and
python/ray/exceptions.py."""

from __future__ import annotations

import re

from hangtop.common.clean_text import clean_text
from hangtop.records.ray.cluster import Death

_EXIT = re.compile(r"Worker exit type: (?P<type>\w+)\s+Worker exit detail: (?P<detail>.*)", re.DOTALL)
_FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line \d+, in ')
_ERROR = re.compile(r"(?:[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)|[A-Za-z_]\w*\.[\w.]+)(?::|$)")
_OWN = ("/ray/_private/", "/ray/util/tracing/", "/ray/_raylet", "python/ray/")
_INTENDED = (
    "all references to the actor were removed",
    "it was killed by `ray.kill`",
    "INTENDED_USER_EXIT",
    "INTENDED_SYSTEM_EXIT",
    "exit_actor",
    "its owner has died",
    "the job has finished",
)
LONGEST = 400


def death_of(detail: str) -> Death:
    """Cause, detail and the lines of the traceback that matter. `detail` as the dashboard gives it; `-` and empty: not told."""
    text = detail.strip()
    if text in ("", "-"):
        return Death("not told by Ray")
    intended = any(words in text for words in _INTENDED)
    if text.startswith("Traceback") or "\nTraceback" in text:
        frames = _last_frame(text)
        return Death(
            "its __init__ raised" if "creation task" in text else "an error in Python", frames[-1] if frames else "", frames
        )
    if exit_words := _EXIT.search(text):
        return Death(f"its process ended: {exit_words['type']}", _sentence(exit_words["detail"]), intended=intended)
    return Death(_sentence(text), intended=intended)


def _last_frame(text: str) -> tuple[str, ...]:
    """The user's innermost frame, its source line, and the last error, which is the root cause."""
    lines = [clean_text(line) for line in text.splitlines() if line.strip(" ^~")]
    own = [i for i, line in enumerate(lines) if (frame := _FRAME.match(line)) and not any(part in frame["file"] for part in _OWN)]
    error = next((line for line in reversed(lines) if _ERROR.match(line)), lines[-1])
    if not own:
        return (error[:LONGEST],)
    last = own[-1]
    source = [lines[last + 1].strip()] if last + 1 < len(lines) and lines[last + 1].startswith("    ") else []
    return tuple(line[:LONGEST] for line in (lines[last].strip(), *source, error))


def _sentence(text: str) -> str:
    """The first two sentences; the list of common causes after them is the same for every death."""
    line = clean_text(" ".join(text.split()))
    return " ".join(re.split(r"(?<=\.) ", line)[:2])[:LONGEST].removesuffix(" Some common causes include: (1)")
