"""What a log announces besides steps and errors: a wait, how many workers are there, where checkpoints go."""

from __future__ import annotations

import re

from msgspec import Struct

from hangtop.logs.lines.block_lines import Line

LITERALS = (
    "leeping ", "leep for ", "etrying in ", "ait up to ", "aiting ", "acking off ", "timeout=", " workers", " actors",
    "local_global_step_folder: ", "heckpoint to ", "heckpoint at iteration ", "heckpoint saved to ", "odel to ", "tate to ",
)  # fmt: skip
"""Any text that `Notices.read` understands holds one of these."""

_SECONDS = {
    "": 1.0,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
}
_WAIT = re.compile(
    r"(?:\b[Ss]leep(?:ing)? (?:for )?|\b[Bb]acking off (?:for )?|"
    r"\b[Ww]aiting (?:for )?(?=\d+(?:\.\d+)? ?(?:s|sec|seconds?|min|minutes?|h|hours?)\b)|"
    r"\b[Rr]etrying in |\b[Ww]ait(?:ing)? up to |\b[Ww]aiting\b.{0,80}\(timeout=)"
    r"(?P<n>\d+(?:\.\d+)?) ?(?P<unit>ms|s|sec|seconds?|min|minutes?|h|hours?)?\b"
)
_POLL = re.compile(r"\bWaiting for (?P<left>\d+) (?:workers|actors)\b.{0,20}\(elapsed:? (?P<elapsed>\d+(?:\.\d+)?) ?s")
_POLL_GRACE = 2.0  # a poll that reports itself is missed when twice its own interval has passed
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


class Notices(Struct):
    """The latest of each. `wait_from` and `wait_s`: a wait that was announced, and when. `workers`: k of N created."""

    wait_from: float | None = None
    wait_s: float | None = None
    wait_offset: int = -1
    workers: tuple[int, int] | None = None
    checkpoint_dir: str | None = None
    _poll: tuple[float, float] | None = None

    def read(self, line: Line) -> None:
        """Takes in a line that holds one of `LITERALS`."""
        text = line.text
        if found := _WAIT.search(text):
            self.wait_offset = line.offset
            self.wait_from, self.wait_s = line.at, float(found["n"]) * _SECONDS[(found["unit"] or "").rstrip("s") or "s"]
        elif found := _POLL.search(text):
            self._polled(line, float(found["elapsed"]))
        if found := _WORKERS.search(text):
            self.workers = (int(found["k"] or found["k2"]), int(found["n"] or found["n2"]))
        if found := _CHECKPOINT.search(text):
            self.checkpoint_dir = _ONE_STEP.sub("", found["path"].rstrip(".,:")) or None

    def announced_until(self) -> float | None:
        """When the wait that was announced last should be over; `None` when none was, or at an unknown time."""
        return None if self.wait_from is None or self.wait_s is None else self.wait_from + self.wait_s

    def undated_wait_s(self, end: int) -> float | None:
        """The wait that was announced at the end of the file, whose byte is `end`, in a line without a clock."""
        lately = self.wait_from is None and self.wait_offset >= 0 and end - self.wait_offset < LATELY_BYTES
        return self.wait_s if lately else None

    def _polled(self, line: Line, elapsed_s: float) -> None:
        before = self._poll
        interval = elapsed_s - before[1] if before is not None and elapsed_s > before[1] else None
        self._poll = (line.at or 0.0, elapsed_s)
        self.wait_from, self.wait_s = line.at, interval * _POLL_GRACE if interval else _FIRST_POLL_S
