"""The text of `py-spy dump` as a dashboard gives it, read back into threads. Pure.

File names come without the part that is on `sys.path`. Libraries are recognised by their first part; the rest is restored where
another process tells the whole name.
"""

from __future__ import annotations

import re
import sys

from hangtop.common.clean_text import clean_text
from hangtop.records.stack import Frame, Thread
from hangtop.stacks.frames import table

_THREAD = re.compile(r'Thread (?P<id>0x[0-9A-Fa-f]+|\d+)(?: \((?P<how>[^)]*)\))?(?:: "(?P<name>.*)")?$')
_FRAME = re.compile(r"\s+(?P<function>.+) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)$")
LIBRARY, STANDARD = "/site-packages/", "/lib/python3/"


def threads_of(dump: str) -> tuple[Thread, ...]:
    """The threads of one process, innermost frame first; none if this is no dump."""
    found: list[tuple[re.Match[str], list[Frame]]] = []
    for line in dump.splitlines():
        if thread := _THREAD.match(line):
            found.append((thread, []))
        elif found and (frame := _FRAME.match(line)):
            name = clean_text(frame["function"])
            found[-1][1].append(Frame(name, whole_name(clean_text(frame["file"])), int(frame["line"] or 0)))
    return tuple(_thread(head, frames) for head, frames in found)


def _thread(head: re.Match[str], frames: list[Frame]) -> Thread:
    tid = int(head["id"]) if head["id"].isdecimal() else None
    how = (head["how"] or "").split("+")
    return Thread(
        clean_text(head["name"] or f"thread {head['id']}"),
        tuple(frames),
        tid,
        owns_gil="gil" in how,
        state="R" if "active" in how else "S",
    )


def whole_name(file: str) -> str:
    """`threading.py` and `torch/cuda/streams.py` with the folders of their libraries; the user's files as they are."""
    if file.startswith(("/", "<")) or ("/" not in file.removeprefix("./") and not file.endswith(".py")):
        return file
    top = file.partition("/")[0].removesuffix(".py")
    known = table().packages
    if top in sys.stdlib_module_names:
        return f"{STANDARD}{file}"
    return f"{LIBRARY}{file}" if "/" in file and top in known.plumbing | known.frameworks else file
