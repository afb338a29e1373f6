"""What a log announces besides steps and errors: a wait, how many workers were created, where checkpoints go."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.extract.wait_reports import POLL
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Writer

_LITERALS = (
    "leeping ", "leep for ", "etrying in ", "ait up to ", "aiting ", "acking off ", "timeout=", " workers", " actors",
    "etry in ", "etrying after ", "etry after ", "etry-After: ", "etries in ", "ry again in ", "rying again in ",
    "ry in ", "ttempt in ",
    "econnecting in ", "esuming in ", "estarting in ", "ausing ", "aused for ", "ackoff", "ack off ", "ooling down ", "ait ",
    "local_global_step_folder: ", "heckpoint to ", "heckpoint at iteration ", "heckpoint saved to ", "odel to ", "tate to ",
    "eriodic dumper started, ",
)  # fmt: skip
"""Any text that `Announcements.read` understands holds one of these."""

_SECONDS = {"ms": 1e-3, "m": 60.0, "h": 3600.0}
"""By unit, of which the first letter is enough, but for milliseconds. Without a unit it is seconds."""
_WAIT = late_pattern(
    r"(?:\b[Ss]leep(?:ing)? (?:for )?|\b[Bb]ack(?:ing)? off (?:for )?|"
    r"\b(?:[Rr]etry(?:ing)?|[Rr]etries|[Tt]ry(?:ing)? again|[Nn]e(?:xt|w) try|[Aa]ttempt|[Rr]econnecting|[Rr]esuming|"
    r"[Rr]estarting) (?:in|after) (?:about )?|\b[Rr]etry-After: |"
    r"\b(?:[Pp]aus(?:ing|ed)|[Cc]ooling down) (?:for )?|\b[Bb]ackoff(?: of | for |[:=] ?| )|"
    r"\b[Ww]ait(?:ing)? (?:for )?(?=\d+(?:\.\d+)? ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b)|"
    r"\b[Ww]ait(?:ing)? up to |\b[Ww]aiting\b.{0,80}\(timeout=)"
    r"(?P<n>\d+(?:\.\d+)?) ?(?P<unit>ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)?\b"
)
_POLL_GRACE = 2.0  # a poll that reports itself is overdue when twice its own interval has passed
_FIRST_POLL_S = 120.0
LATELY_BYTES = 2_000
MOST_WAITS = 256
_WORKERS = late_pattern(
    r"\b[Cc]reated (?P<k>\d+)/(?P<n>\d+) (?:workers|actors)\b|(?P<k2>\d+)(?:/| of )(?P<n2>\d+) (?:workers|actors) (?:are )?"
    r"(?:ready|created|started|joined|alive|up|initialized)"
)
_CHECKPOINT = late_pattern(
    r"(?:local_global_step_folder: |[Ss]aving (?:model |the )?checkpoint (?:at iteration +\d+ )?to |[Cc]heckpoint saved to "
    r"|[Ss]aved? (?:the )?(?:model|(?:current )?state) to )(?P<path>[\w~./+=@:-]*/[\w./+=@:-]*)"
)
_ONE_STEP = late_pattern(r"/(?:checkpoint-|global_step_?|step[_-]?|iter_?|epoch[_=-]?)\d[\w.=-]*(?:/.*)?$")


_DUMPER = late_pattern(r"Periodic dumper started, writing to (?P<path>.{1,400}?) every \d")
"""torch/distributed/debug/_frontend.py."""


class _Wait(Struct, frozen=True):
    offset: int
    at: float | None
    seconds: float


class Announcements(Extractor):
    """The latest announcement of each kind; of waits, that of each writer."""

    literals = _LITERALS

    def __init__(self) -> None:
        self._waits: dict[Writer, _Wait] = {}
        self._workers: tuple[int, int] | None = None
        self._checkpoint_dir: str | None = None
        self._stack_dumps: str | None = None
        self._poll: tuple[float, int] | None = None

    def read(self, found: FoundLine) -> None:
        line, text = found.line, found.line.text
        if told := _WAIT.search(text):
            unit = told["unit"] or "s"
            self._announce(line, float(told["n"]) * _SECONDS.get(unit if unit == "ms" else unit[0], 1.0))
        elif told := POLL.search(text):
            self._polled(line, float(told["elapsed"]), int(told["left"]))
        if told := _WORKERS.search(text):
            self._workers = (int(told["k"] or told["k2"]), int(told["n"] or told["n2"]))
        if told := _CHECKPOINT.search(text):
            self._checkpoint_dir = _ONE_STEP.sub("", told["path"].rstrip(".,:")) or None

        if told := _DUMPER.search(text):
            self._stack_dumps = told["path"]

    def add_facts(self, facts: FileFacts) -> FileFacts:
        """A wait that is announced in a line without a clock counts only if that line stands at the end of the file."""
        waits = self._waits.values()
        until = (wait.at + wait.seconds for wait in waits if wait.at is not None)
        late = (wait.seconds for wait in waits if wait.at is None and facts.bytes - wait.offset < LATELY_BYTES)
        return replace(
            facts,
            workers=self._workers,
            announced_until=max(until, default=None),
            undated_wait_s=max(late, default=None),
            checkpoint_dir=self._checkpoint_dir,
            stack_dumps=self._stack_dumps,
        )

    def _polled(self, line: Line, elapsed_s: float, left: int) -> None:
        """A poll tells when the next one is due. One with the number of the one before announces nothing, and by its own clock
        what was announced before runs out: only a number that falls is life."""
        before, self._poll = self._poll, (elapsed_s, left)
        passed_s = elapsed_s - before[0] if before is not None else 0.0
        if before is None or before[1] != left or passed_s <= 0:
            self._announce(line, passed_s * _POLL_GRACE if passed_s > 0 else _FIRST_POLL_S)
        elif wait := self._waits.get(line.writer):
            left_s = wait.seconds - passed_s if wait.at is None else min(wait.seconds, passed_s * _POLL_GRACE)
            self._waits[line.writer] = replace(wait, seconds=max(0.0, left_s))

    def _announce(self, line: Line, seconds: float) -> None:
        """Who announces again waits anew; what another one announced still holds."""
        self._waits.pop(line.writer, None)
        self._waits[line.writer] = _Wait(line.offset, line.at, seconds)
        if len(self._waits) > MOST_WAITS:
            del self._waits[next(iter(self._waits))]
