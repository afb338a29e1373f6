"""The log pane, row by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len

from hangtop.common import text
from hangtop.records.log import LineKind, LogFile, LogLine
from hangtop.render.log.log_merge import place_of
from hangtop.render.log.log_view_model import LogViewModel
from hangtop.render.spans import BLANK, Row, cut, dotted, width_of
from hangtop.render.verdict_labels import verdict_label
from hangtop.render.view import View

ROLES: dict[LineKind, str] = {"plain": "muted", "progress": "ink", "stage": "accent", "warning": "warn", "error": "bad"}
LABEL_CELLS = 12
STAMP = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s*")
MOST_SHOWN = 2_000
"""Only so many characters of a line are ever painted."""


@lru_cache(maxsize=256)
def line_row(line: LogLine, width: int, *, label: str = "", timed: bool = True, shift: int = 0, marked: bool = False) -> Row:
    """Time, file, prefix, text. `shift`: columns scrolled to the right; `marked`: the line that was jumped to."""
    clock = (
        ((f"{text.clock(line.at) if line.at is not None else ' ' * 8}  ", "accent reverse" if marked else "stale"),)
        if timed
        else ()
    )
    mark = (("▸ ", "accent bold"),) if marked and not timed else ()
    name = ((f"{label:<{LABEL_CELLS}.{LABEL_CELLS}}  ", "muted"),) if label else ()
    prefix = f"{line.prefix.rstrip()} " if line.prefix else ""
    if timed and line.at is not None and width_of((*clock, *name)) + len(prefix) + len(line.text) > width:
        prefix = STAMP.sub("", prefix, count=1)  # it stands in front already, and the message needs the room
    words: Row = ((prefix[:MOST_SHOWN], "muted"), (line.text[: MOST_SHOWN + shift], ROLES[line.kind]))
    return cut((*clock, *mark, *name, *_shifted(words, shift)), width)


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


def log_rows(view: View, book: LogViewModel, width: int, height: int, shift: int = 0) -> list[Row]:
    """The lines that fit, and the silence as the last one."""
    silence = silence_row(view, width) if book.following else None
    problem = problem_of(view, book) if height > 1 else None
    broken: list[Row] = [cut((("! ", "warn bold"), (problem, "warn")), width)] if problem else []
    room = height - (silence is not None) - len(broken)
    lines = book.visible(room)
    if not lines and (silence is None or book.sought.filtered):
        said, role = waiting_line(view, book)
        return [*(((line, role),) for line in text.wrap(said, max(1, width))), *([silence] if silence else [])][:height]
    files = view.state.log.files if view.state.log else ()
    timed = any(line.at is not None for line in lines)
    several = len(files) > 1 and book.sought.file is None
    rows = [
        line_row(
            line,
            width,
            label=label_of(line, files) if several else "",
            timed=timed,
            shift=shift,
            marked=place_of(line) == book.target,
        )
        for line in lines
    ]
    return [*broken, *rows, *([silence] if silence else [])]


def problem_of(view: View, book: LogViewModel) -> str | None:
    """The problem of the log, or of the one file shown."""
    log = view.state.log
    if log is None or log.problem:
        return log.problem if log else None
    number = book.sought.file if len(log.files) > 1 else 0
    file = log.files[number] if number is not None and number < len(log.files) else None
    if file is None or not file.problem or file.status in ("ok", "waiting", "closed"):
        return None
    folder, _, _ = file.path.rpartition("/")
    return file.problem.removeprefix(f"{folder}/")


def waiting_line(view: View, book: LogViewModel) -> tuple[str, str]:
    """Why there is no line: (words, role)."""
    log = view.state.log
    if log is None:
        return ("reading …", "muted")
    if book.sought.filtered:
        return (
            _late(view, book)
            or book.said
            or ("searching …" if book.waiting else "no line matches: Esc shows all, / another filter"),
            "muted",
        )
    problems = [problem for problem in (log.problem, *(file.problem for file in log.files)) if problem]
    if problems:
        return (problems[0], "warn")
    waiting = [file.path for file in log.files if file.status == "waiting"]
    if waiting:
        return (f"waiting for {', '.join(waiting)}", "muted")
    return ("nothing written yet", "muted")


def _late(view: View, book: LogViewModel) -> str:
    """Why a search takes long; empty if it does not."""
    pages = view.state.health.get("pages")
    if not book.waiting or pages is None or pages.busy_s <= pages.deadline_s:
        return ""
    return f"no answer for {text.duration(pages.busy_s)}: the log's file system may not answer"


def label_of(line: LogLine, files: Sequence[LogFile]) -> str:
    """The rank of the line's file, else the end of the file's name."""
    file = files[line.file] if line.file < len(files) else None
    if file is None:
        return f"file {line.file}"
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
    said = f"silent since {since}"
    writers = view.state.procs.writers if view.state.procs else ()
    if verdict.word == "finished":
        closed = writers and not any(writer.alive for writer in writers)
        said, role = (f"closed by all writers, last line {since}" if closed else f"ended, last line {since}"), "muted"
    elif verdict.word in ("slow", "waiting"):
        said = f"quiet since {since}"
        if at_work := verdict.at_work:
            said += f", but {text.numbered('rank', at_work)} work{'' if len(at_work) > 1 else 's'}"
    rule = max(0, width - cell_len(said) - 4)
    return cut((("━━ ", f"{role} bold"), (said, f"{role} bold"), (" " + "━" * rule, role)), width)


def head_summary(view: View, book: LogViewModel) -> Row:
    """Name, size, and whether the pane follows."""
    log = view.state.log
    if log is None or not log.files:
        return ((view.title, "muted"), (" · ", "faint"), ("reading …", "muted"))
    parts: list[Row] = [((named(view, book), "muted"),), ((text.size(sum(file.size_bytes for file in log.files)), "muted"),)]
    parts.append(((_mode(view, book), "muted" if book.following else "accent"),))
    networks = sorted({file.network for file in log.files if file.network})
    if networks:
        slack = max(file.slack_s for file in log.files)
        parts.append(((f"{networks[0]}, may be {text.duration(slack)} late", "warn"),))
    parts += [((file.not_kept, "warn"),) for file in log.files if file.not_kept]
    bad = [file for file in log.files if file.status not in ("ok", "waiting")]
    if bad and len(log.files) > 1:
        parts.append(((f"{len(bad)} unreadable", "warn"),))
    return dotted(parts)


def named(view: View, book: LogViewModel) -> str:
    files = view.state.log.files if view.state.log else ()
    if book.sought.file is not None and book.sought.file < len(files) and len(files) > 1:
        return f"{_name(files[book.sought.file])} ({book.sought.file + 1} of {len(files)})"
    if len(files) > 1:
        return text.some(len(files), "file")
    return "stdin" if files[0].path == "-" else _name(files[0])


def _mode(view: View, book: LogViewModel) -> str:
    if not book.following:
        lines = book.visible(1)
        size = max(1, sum(f.size_bytes for f in view.state.log.files) if view.state.log else 1)
        share = lines[0].offset / size if lines and view.state.log and len(view.state.log.files) == 1 else None
        return "scrolled back" if share is None else f"scrolled back to {share:.0%}"
    if view.verdict and view.verdict.word == "finished":
        return "ended"
    return "following"


def head_right(book: LogViewModel) -> Row:
    """The filter in words, or "all lines"."""
    sought = book.sought
    said = ((f"{book.said}  ", "warn"),) if book.said else ()
    if not sought.filtered:
        return (*said, ("all lines", "muted"))
    parts: list[str] = []
    if sought.notable:
        parts.append("errors and stages")
    if sought.pattern:
        parts.append(f"/{sought.pattern}/" if sought.regex else f'"{sought.pattern}"')
    shown = " · ".join(parts)
    return (*said, (shown if len(shown) <= 40 else shown[:39] + "…", "accent bold"), ("  Esc all", "muted")) if shown else BLANK
