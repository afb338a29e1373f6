"""What the log tells around an exception, by the names of slots: the training was done, the run removed what it misses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hangtop.diagnosis.facts.message_evidence import short
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import TRACEBACK, Finding, LogLine

_REMOVES = re.compile(
    r"(?i)\b(?:remov|delet|unlink|clean(?:ed|ing|s)? ?up|purg|evict|prun)\w{0,4}\b[^\r\n]{0,120}?(?P<path>/[^\s'\",;)]{2,300})"
)
_PATH = re.compile(r"(?P<path>/[^\s'\",;)]{2,400})")
_FUNCTION = re.compile(r" in (?P<name>[\w<>.]{1,80})$")
LONGEST = 120


def of_exception(snapshot: Snapshot, finding: Finding) -> Iterator[tuple[str, str]]:
    """Slots, only for an exception whose own page is general."""
    if finding.id != TRACEBACK:
        return
    progress = snapshot.log.progress
    done = progress.step is not None and progress.total is not None and progress.step >= progress.total > 1
    function = _FUNCTION.search(finding.groups.get("own") or finding.groups.get("frame") or "")
    if done and not progress.partial and function is not None and finding.attempt == snapshot.log.attempt:
        yield from (("steps_done", f"{progress.step:,}"), ("failed_in", function["name"]))
    missed = _PATH.search(finding.text)
    if missed is not None and finding.groups.get("kind") == "kind.no_file":
        before = (line for line in reversed(snapshot.state.tail) if line.file != finding.file or line.offset < finding.offset)
        yield from _removed(before, missed["path"])


def _removed(lines: Iterable[LogLine], path: str) -> Iterator[tuple[str, str]]:
    """The first of these lines that says that this path, or a folder around it, is removed."""
    for line in lines:
        found = _REMOVES.search(line.text)
        if found is not None and f"{path}/".startswith(f"{found['path'].rstrip('/')}/"):
            yield "removed", short(line.text, LONGEST)
            return
