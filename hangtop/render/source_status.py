"""What a pane says when its source has nothing to show, or only old values."""

from __future__ import annotations

from rich.cells import cell_len

from hangtop.common import text
from hangtop.diagnosis.members.log_copiers import copier_of
from hangtop.diagnosis.sources_seen import failure
from hangtop.feeds.troubled import ASIDE
from hangtop.records.health import LATE_S, NO_ANSWER_S
from hangtop.records.nodes import is_node
from hangtop.records.process import Writer
from hangtop.render.spans import BLANK, Row, cut, folded
from hangtop.render.view import View
from hangtop.translations import say


def source_line(view: View, source: str) -> Row:
    """Why there is nothing: not asked for, absent, failing, or not read yet."""
    if source not in view.spec.sources:
        return ((say("not watched"), "muted"),)
    health = view.state.health.get(source)
    if health is None or (health.read_at is None and not health.problem and not health.absent):
        return ((say("reading …"), "muted"),)
    if health.absent is not None:
        return ((say(f"none: {health.absent}"), "muted"),)
    if health.problem is not None:
        return ((say(health.problem), "warn"),)
    return ((say("nothing to show"), "muted"),)


def trouble_rows(view: View, width: int, *, wide: bool, lines: int) -> list[Row]:
    """The first source that has a problem, or cannot see everything, and why, in so many lines at most; else that there is no
    GPU; nothing where all are well. `wide`: each pane says it by itself."""
    source, why, role = _trouble(view, wide=wide)
    if not why:
        return []
    row: Row = ((f"{source}  ", role), (why, "muted" if role == "muted" else "ink"))
    told = folded(row, width, cell_len(source) + 2)
    return told if len(told) <= lines else [*told[: lines - 1], cut((*told[lines - 1], (" …", "muted")), width)]


def _trouble(view: View, *, wide: bool) -> tuple[str, str, str]:
    """Source, why, role of the source's name."""
    for name, health in sorted(view.state.health.items(), key=lambda known: known[0] not in ASIDE):
        if health.absent is not None or (wide and name not in ASIDE and not is_node(name)):
            continue
        if why := health.problem or failure(health, view.state, view.now):
            return name, say(why), "warn"
        if note := _note(view, name):
            return name, say(note), "warn"
    gpu = view.state.health.get("gpu")
    return ("gpu", say(f"none: {gpu.absent}"), "muted") if gpu is not None and gpu.absent and not wide else ("", "", "")


def _note(view: View, source: str) -> str:
    """What a source that is well could not see."""
    if source == "gpu":
        return next((note for node in view.state.gpus.values() for note in node.reading.notes), "")
    procs = view.state.procs
    if source != "procs" or procs is None:
        return ""
    copier = copier_of(procs)
    return copier.text if copier is not None else (procs.note or "")


def old_row(age_s: float, late_s: float = LATE_S, stuck_s: float = NO_ANSWER_S) -> Row:
    """How old values are; nothing while they are fresh."""
    return BLANK if age_s < late_s else late_row(age_s, answers=age_s < stuck_s)


def late_row(age_s: float | None, *, answers: bool) -> Row:
    """How old values are, and whether an answer is only late."""
    return (
        ((say(f"late: {text.age(age_s)} old"), "warn"),) if answers else ((say(f"no answer for {text.age(age_s)}"), "bad bold"),)
    )


def writers_line(view: View) -> Row:
    """The writers of the log."""
    writers = view.state.procs.writers if view.state.procs else ()
    if not writers:
        note = view.state.procs.note if view.state.procs else None
        return ((say(note), "muted"),) if note else source_line(view, "procs")
    alive = [writer for writer in writers if writer.alive]
    gone = [writer for writer in writers if not writer.alive]
    row: Row = ()
    if alive and (copier := copier_of(view.state.procs)) is not None:
        row = ((say(copier.text), "warn"),)
    elif alive:
        first, more = alive[0], f" ×{len(alive)}" if len(alive) > 1 else ""
        known = f"{first.name}{more}  pid {first.pid}  {text.first_line(first.command)}"
        row = ((say("writes the log: "), "muted"), (known, "ink"))
    if gone:
        row = (*row, ("   " if row else "", ""), (say("gone: "), "warn"), (_gone(gone[-1]), "ink"))
    return row


def _gone(writer: Writer) -> str:
    code = "" if writer.exit_code is None else f", exit code {writer.exit_code}"
    when = "" if writer.gone_at is None else f" at {text.clock(writer.gone_at)}"
    return say(f"{writer.name} pid {writer.pid}{when}{code}")
