"""The log pane, row by row."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len

from hangtop.common import text
from hangtop.logs.lines.timestamps import STAMP
from hangtop.records.log import LineKind, LogFile, LogLine
from hangtop.render.log.log_merge import Place, place_of
from hangtop.render.log.log_query import LogQuery
from hangtop.render.log.log_view_model import LogViewModel
from hangtop.render.log.own_ink import inked
from hangtop.render.spans import Row, cut, dotted, wrapped_row
from hangtop.render.verdict_labels import verdict_label
from hangtop.render.view import View
from hangtop.translations import say

ROLES: dict[LineKind, str] = {
    "plain": "muted",
    "progress": "ink",
    "stage": "accent",
    "warning": "warn",
    "error": "bad",
    "border": "muted",
}
LABEL_CELLS, CLOCK_CELLS = 12, 10
_CLOCK = re.compile(rf"\[(?:{STAMP})\]\s*|(?<![\w-])(?:{STAMP})\s*(?:[-|]\s+)?|(?<=\b[IWEF])\d{{3,4}} \d\d:\d\d:\d\d(?:\.\d+)?")
_SECONDS = re.compile(r"\d\d:(\d\d):(\d\d)")
SAME_S, ZONES_S = 2, 1_800
"""A stamp that tells the same moment, to so many seconds, in whatever zone: those differ by whole half hours."""
LIKE_A_REGEX = re.compile(r"\S\|\S|\.[*+]|\\[^\s]|^\^|\$$")
"""What a person types for grep -E, and hardly as plain text. A bracket is none: `[ACTOR]` stands in logs."""
MOST_SHOWN = 2_000
"""Only so many characters of a line are ever painted."""


class LineLook(Struct, frozen=True):
    """How lines are painted. `shift`: columns scrolled to the right. `wraps`: long ones go on in the next row. `inked`: in the
    colours of their program."""

    shift: int = 0
    wraps: bool = False
    inked: bool = False


Mark = tuple[str, str]
PLAIN_LOOK = LineLook()
TARGET, MARKED = ("accent reverse", "▸ "), ("warn reverse", "◂ ")
"""Of a line that was jumped to, and of one that a person marked: the look of its time, and the sign where lines have none."""


def line_row(line: LogLine, width: int, *, timed: bool = True, shift: int = 0) -> Row:
    """Time, prefix, text."""
    return line_rows(line, width, LineLook(shift), timed=timed)[0]


@lru_cache(maxsize=256)
def line_rows(
    line: LogLine, width: int, look: LineLook = PLAIN_LOOK, *, label: str = "", timed: bool = True, mark: Mark | None = None
) -> tuple[Row, ...]:
    """Time, file, prefix, text, in one row, or in as many as it needs. `mark`: `TARGET`, `MARKED` or none."""
    if line.kind == "border":
        return (border_row(width, label),)
    at = text.clock(line.at) if line.at is not None else " " * 8
    clock = ((f"{at}  ", mark[0] if mark else "stale"),) if timed else ()
    sign = ((mark[1], "accent bold"),) if mark and not timed else ()
    name = ((f"{label:<{LABEL_CELLS}.{LABEL_CELLS}}  ", "muted"),) if label else ()
    row = (*clock, *sign, *name, *_shifted(_words(line, look, timed=timed), 0 if look.wraps else look.shift))
    return tuple(wrapped_row(row, width, CLOCK_CELLS if timed else 2)) if look.wraps else (cut(row, width),)


def _words(line: LogLine, look: LineLook, *, timed: bool) -> Row:
    prefix = f"{line.prefix.rstrip()} " if line.prefix else ""
    if timed and line.at is not None:
        prefix = without_clock(prefix, line.at)
    said, role = line.text[: MOST_SHOWN + look.shift], ROLES[line.kind]
    told = inked(said, line.colours, role) if look.inked and line.colours else ((said, role),)
    return ((prefix[:MOST_SHOWN], "muted"), *told)


def border_row(width: int, label: str) -> Row:
    """`── rotated: its new file begins ────`: the lines above stood in the file that was here before."""
    said = say("rotated: its new file begins")
    named = f"{label} {said}" if label else said
    return cut(((f"── {named} " + "─" * max(0, width - cell_len(named) - 4), ROLES["border"]),), width)


def without_clock(prefix: str, at: float) -> str:
    """A prefix without its first time where that tells what stands in front of the line already. One that tells another time
    stays: the clock of the run is off."""
    found = _CLOCK.search(prefix)
    told = _SECONDS.search(found[0]) if found is not None else None
    if found is None or told is None:
        return prefix
    apart = (60 * int(told[1]) + int(told[2]) - int(at)) % ZONES_S
    if min(apart, ZONES_S - apart) > SAME_S:
        return prefix
    rest = prefix[: found.start()] + prefix[found.end() :]
    return rest if rest.strip() else ""


def _shifted(row: Row, cells: int) -> Row:
    if not cells:
        return row
    kept: list[tuple[str, str]] = [("…", "muted")]
    for words, role in row:
        if cells >= len(words):
            cells -= len(words)
        else:
            kept.append((words[cells:], role))
            cells = 0
    return tuple(kept)


def log_rows(
    view: View, model: LogViewModel, width: int, height: int, look: LineLook = PLAIN_LOOK, marks: Collection[Place] = ()
) -> list[Row]:
    """The lines that fit, and the silence as the last one."""
    silence = silence_row(view, width) if model.following else None
    problem = problem_of(view, model) if height > 1 else None
    broken: list[Row] = [cut((("! ", "warn bold"), (problem, "warn")), width)] if problem else []
    room = height - (silence is not None) - len(broken)
    lines = model.visible(room)
    if not lines and (silence is None or model.sought.filtered):
        said, role = waiting_line(view, model)
        return [*(((line, role),) for line in text.wrap(said, max(1, width))), *([silence] if silence else [])][:height]
    files = view.state.log.files if view.state.log else ()
    timed = any(line.at is not None for line in lines)
    several = len(files) > 1 and model.sought.file is None
    labels = [label_of(line, files) if several else "" for line in lines]
    rows: list[Row] = []
    for line, label in zip(lines, labels, strict=True):
        place = place_of(line)
        mark = TARGET if place == model.target else MARKED if place in marks else None
        rows += line_rows(line, width, look, label=label, timed=timed, mark=mark)
    rows = rows[-room:] if model.following else rows[:room]
    return [*broken, *(rows if room > 0 else []), *([silence] if silence else [])]


def problem_of(view: View, model: LogViewModel) -> str | None:
    """The problem of the log, or of the one file shown."""
    log = view.state.log
    if log is None or log.problem:
        return log.problem if log else None
    number = model.sought.file if len(log.files) > 1 else 0
    file = log.files[number] if number is not None and number < len(log.files) else None
    if file is None or not file.problem or file.status in ("ok", "waiting", "closed"):
        return None
    return file.problem.removeprefix(f"{file.path.rpartition('/')[0]}/")


def no_line(sought: LogQuery) -> str:
    """What may be typed in place of a filter that shows nothing: one that looks like a regex was taken as plain text."""
    pattern = sought.pattern or ""
    if not sought.regex and LIKE_A_REGEX.search(pattern):
        return say(f"no line holds {pattern!r} as it stands: / Tab Enter takes it as a regex, Esc shows all")
    return say("no line matches: Esc shows all, / another filter")


def waiting_line(view: View, model: LogViewModel) -> tuple[str, str]:
    """Why there is no line: (words, role)."""
    log = view.state.log
    if log is None:
        return (say("reading …"), "muted")
    if model.sought.filtered:
        found = say("searching …" if model.waiting else no_line(model.sought))
        return (_late(view, model) or model.said or found, "muted")
    for problem in (log.problem, *(file.problem for file in log.files)):
        if problem:
            return (problem, "warn")
    waiting = [file.path for file in log.files if file.status == "waiting"]
    return (say(f"waiting for {', '.join(waiting)}" if waiting else "nothing written yet"), "muted")


def _late(view: View, model: LogViewModel) -> str:
    """Why a search takes long; empty if it does not."""
    pages = view.state.health.get("pages")
    if not model.waiting or pages is None or not pages.is_late:
        return ""
    return say(f"no answer for {text.duration(pages.busy_s)}: the log's file system may not answer")


def label_of(line: LogLine, files: Sequence[LogFile]) -> str:
    """The rank of the line's file, else the end of the file's name."""
    file = files[line.file] if line.file < len(files) else None
    if file is None:
        return say(f"file {line.file}")
    if file.rank is not None:
        return f"rank {file.rank}"
    name = _name(file)
    return name if len(name) <= LABEL_CELLS else f"…{name[1 - LABEL_CELLS :]}"


def _name(file: LogFile) -> str:
    return file.path.rpartition("/")[2]


def silence_row(view: View, width: int) -> Row | None:
    """`━━ silent since 10:04:24 ━━━━`: red, amber while something works, grey once the writers have closed the log."""
    verdict, log = view.verdict, view.state.log
    if verdict is None or log is None or verdict.word in ("running", "blind") or log.last_output_at is None:
        return None
    since = text.moment(log.last_output_at, view.now)
    role = verdict_label(verdict).role
    said = say(f"silent since {since}")
    writers = view.state.procs.writers if view.state.procs else ()
    if verdict.word == "finished":
        closed = writers and not any(writer.alive for writer in writers)
        said, role = (say(f"closed by all writers, last line {since}" if closed else f"ended, last line {since}")), "muted"
    elif verdict.word in ("slow", "waiting"):
        said = say(f"quiet since {since}")
        if at_work := verdict.at_work:
            said += say(f", but {text.numbered('rank', at_work)} work{'' if len(at_work) > 1 else 's'}")
    rule = max(0, width - cell_len(said) - 4)
    return cut((("━━ ", f"{role} bold"), (said, f"{role} bold"), (" " + "━" * rule, role)), width)


def head_summary(view: View, model: LogViewModel) -> Row:
    """Name, size, and whether the pane follows."""
    log = view.state.log
    if log is None or not log.files:
        return ((view.title, "muted"), (" · ", "faint"), (say("reading …"), "muted"))
    networks = sorted({file.network for file in log.files if file.network})
    late = text.duration(max(file.slack_s for file in log.files))
    bad = sum(file.status not in ("ok", "waiting") for file in log.files)
    parts: tuple[Row, ...] = (
        ((named(view, model), "muted"),),
        ((text.size(sum(file.size_bytes for file in log.files)), "muted"),),
        ((_mode(view, model), "muted" if model.following else "accent"),),
        ((say(f"{networks[0]}, may be {late} late"), "warn"),) if networks else (),
        *(((file.not_kept, "warn"),) for file in log.files if file.not_kept),
        ((say(f"{bad} unreadable"), "warn"),) if bad and len(log.files) > 1 else (),
    )
    return dotted(parts)


def named(view: View, model: LogViewModel) -> str:
    files = view.state.log.files if view.state.log else ()
    if model.sought.file is not None and model.sought.file < len(files) and len(files) > 1:
        return say(f"{_name(files[model.sought.file])} ({model.sought.file + 1} of {len(files)})")
    if len(files) > 1:
        return text.some(len(files), "file")
    return "stdin" if files[0].path == "-" else _name(files[0])


def _mode(view: View, model: LogViewModel) -> str:
    if not model.following:
        lines = model.visible(1)
        size = max(1, sum(f.size_bytes for f in view.state.log.files) if view.state.log else 1)
        single = lines and lines[0].offset >= 0 and view.state.log and len(view.state.log.files) == 1
        share = lines[0].offset / size if single else None
        return say("scrolled back" if share is None else f"scrolled back to {share:.0%}")
    if view.verdict and view.verdict.word == "finished":
        return say("ended")
    return say("following")


def head_right(model: LogViewModel) -> Row:
    """The filter in words, or "all lines"."""
    sought = model.sought
    said = ((f"{model.said}  ", "warn"),) if model.said else ()
    if not sought.filtered:
        return (*said, (say("all lines"), "muted"))
    pattern = f"/{sought.pattern}/" if sought.regex else f'"{sought.pattern}"'
    shown = " · ".join((*([say("errors and stages")] if sought.notable else []), *([pattern] if sought.pattern else [])))
    return (*said, (shown if len(shown) <= 40 else shown[:39] + "…", "accent bold"), (say("  Esc all"), "muted"))
