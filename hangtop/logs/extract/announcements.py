"""What a log announces besides steps and errors: a wait, how many workers were created, where checkpoints go."""

from __future__ import annotations

import re

from msgspec.structs import replace

from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line

_LITERALS = (
    "leeping ", "leep for ", "etrying in ", "ait up to ", "aiting ", "acking off ", "timeout=", " workers", " actors",
    "local_global_step_folder: ", "heckpoint to ", "heckpoint at iteration ", "heckpoint saved to ", "odel to ", "tate to ",
)  # fmt: skip
"""Any text that `Announcements.read` understands holds one of these."""

_SECONDS = {"ms": 1e-3, "m": 60.0, "h": 3600.0}
"""By unit, of which the first letter is enough, but for milliseconds. Without a unit it is seconds."""
_WAIT = re.compile(
    r"(?:\b[Ss]leep(?:ing)? (?:for )?|\b[Bb]acking off (?:for )?|"
    r"\b[Ww]aiting (?:for )?(?=\d+(?:\.\d+)? ?(?:s|sec|seconds?|min|minutes?|h|hours?)\b)|"
    r"\b[Rr]etrying in |\b[Ww]ait(?:ing)? up to |\b[Ww]aiting\b.{0,80}\(timeout=)"
    r"(?P<n>\d+(?:\.\d+)?) ?(?P<unit>ms|s|sec|seconds?|min|minutes?|h|hours?)?\b"
)
_POLL = re.compile(r"\bWaiting for (?P<left>\d+) (?:workers|actors)\b.{0,20}\(elapsed:? (?P<elapsed>\d+(?:\.\d+)?) ?s")
_POLL_GRACE = 2.0  # a poll that reports itself is overdue when twice its own interval has passed
_FIRST_POLL_S = 120.0
LATELY_BYTES = 2_000
_WORKERS = re.compile(
    r"\b[Cc]reated (?P<k>\d+)/(?P<n>\d+) (?:workers|actors)\b|(?P<k2>\d+)(?:/| of )(?P<n2>\d+) (?:workers|actors) (?:are )?"
    r"(?:ready|created|started|joined|alive|up|initialized)"
)
_CHECKPOINT = re.compile(
    r"(?:local_global_step_folder: |[Ss]aving (?:model |the )?checkpoint (?:at iteration +\d+ )?to |[Cc]heckpoint saved to "
    r"|[Ss]aved? (?:the )?(?:model|(?:current )?state) to )(?P<path>[\w~./+=@:-]*/[\w./+=@:-]*)"
)
_ONE_STEP = re.compile(r"/(?:checkpoint-|global_step_?|step[_-]?|iter_?|epoch[_=-]?)\d[\w.=-]*(?:/.*)?$")


class Announcements(Extractor):
    """The latest announcement of each kind."""

    literals = _LITERALS

    def __init__(self) -> None:
        self._wait_from: float | None = None
        self._wait_s: float | None = None
        self._wait_offset = -1
        self._workers: tuple[int, int] | None = None
        self._checkpoint_dir: str | None = None
        self._poll: tuple[float, float] | None = None

    def read(self, found: FoundLine) -> None:
        line, text = found.line, found.line.text
        if told := _WAIT.search(text):
            self._wait_offset, self._wait_from = line.offset, line.at
            unit = told["unit"] or "s"
            self._wait_s = float(told["n"]) * _SECONDS.get(unit if unit == "ms" else unit[0], 1.0)
        elif told := _POLL.search(text):
            self._polled(line, float(told["elapsed"]))
        if told := _WORKERS.search(text):
            self._workers = (int(told["k"] or told["k2"]), int(told["n"] or told["n2"]))
        if told := _CHECKPOINT.search(text):
            self._checkpoint_dir = _ONE_STEP.sub("", told["path"].rstrip(".,:")) or None

    def add_facts(self, facts: FileFacts) -> FileFacts:
        """A wait that is announced in a line without a clock counts only if that line stands at the end of the file."""
        until = None if self._wait_from is None or self._wait_s is None else self._wait_from + self._wait_s
        is_late = self._wait_offset >= 0 and facts.bytes - self._wait_offset < LATELY_BYTES
        return replace(
            facts,
            workers=self._workers,
            announced_until=until,
            undated_wait_s=self._wait_s if self._wait_from is None and is_late else None,
            checkpoint_dir=self._checkpoint_dir,
        )

    def _polled(self, line: Line, elapsed_s: float) -> None:
        before = self._poll
        interval = elapsed_s - before[1] if before is not None and elapsed_s > before[1] else None
        self._poll = (line.at or 0.0, elapsed_s)
        self._wait_from, self._wait_s = line.at, interval * _POLL_GRACE if interval else _FIRST_POLL_S
