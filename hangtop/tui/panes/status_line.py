"""The status line: the run, its progress, and the badge."""

from __future__ import annotations

from hangtop.common import text
from hangtop.render.rank_rows import world_of
from hangtop.render.spans import Row, between, dotted, width_of
from hangtop.render.verdict_labels import verdict_label
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.widgets.row_widget import RowWidget

DROPPED = ("brand", "framework", "host", "eta", "pace", "catching up", "attempt", "replay", "step")
"""The order in which a narrow line drops its parts."""


def badge(view: View) -> Row:
    """Verdict and silence. Its width changes only with the verdict and the digits of the time."""
    verdict = view.verdict
    if verdict is None:
        return ((say("reading …"), "muted"),)
    look = verdict_label(verdict)
    silence = text.duration(verdict.silence_s)
    if look.fill:
        face = f" {look.sign} {look.word}  {silence} " if verdict.silence_s is not None else f" {look.sign} {look.word} "
        return ((face, f"{look.role} bold reverse" if view.lit else f"{look.role} bold"),)
    tail = say(f"{silence} ago" if verdict.word == "finished" else f"quiet {silence}")
    return ((f"{look.sign} {look.word}", f"{look.role} bold"), (f"  {tail}" if verdict.silence_s is not None else "", "muted"))


def status_row(view: View, width: int, replay: str = "") -> Row:
    """Badge and title stay at any width. `replay`: the position in a replay, in place of the brand."""
    right = (*badge(view), (" ", ""))
    parts: dict[str, Row] = {"replay": ((replay, "accent"),)} if replay else {"brand": (("hangtop", "muted"),)}
    parts |= _parts(view)
    for name in (*DROPPED, ""):
        left = _left(view, parts)
        if width_of(left) + width_of(right) < width:
            break
        parts.pop(name, None)
    return between(left, right, width)


def _left(view: View, parts: dict[str, Row]) -> Row:
    brand = parts.get("brand") or parts.get("replay")
    front: Row = (*brand, ("  ", "")) if brand else ()
    facts = dotted(part for name, part in parts.items() if name not in ("brand", "replay"))
    return ((" ", ""), *front, (view.title, "ink bold"), ("   ", ""), *facts)


def _parts(view: View) -> dict[str, Row]:
    """The parts of the line, in order, by name."""
    log = view.state.log
    if log is None:
        return {}
    parts: dict[str, Row] = {}
    if log.framework:
        parts["framework"] = ((log.framework, "muted"),)
    hosts = {rank.host for rank in view.ranks if rank.host}
    where = "" if not hosts else f" on {next(iter(hosts))}" if len(hosts) == 1 else f" on {text.some(len(hosts), 'node')}"
    if world := world_of(view):
        parts["host"] = ((say(text.some(world, "rank") + where), "muted"),)
    if log.attempt > 1:
        parts["attempt"] = ((say(f"attempt {log.attempt}"), "warn"),)
    progress = log.progress
    if progress.step is not None:
        of = f"/{progress.total:,}" if progress.total else ""
        parts["step"] = ((f"{progress.unit} {progress.step:,}{of}", "ink"),)
    elif log.stages and log.stages[0].at is not None and view.now >= log.stages[0].at:
        parts["step"] = ((say(f"started {text.duration(text.coarse(view.now - log.stages[0].at))} ago"), "muted"),)
    if progress.step_s is not None and view.verdict and view.verdict.state.works:  # neither goes on while the run stands
        parts["pace"] = ((f"{text.pace(progress.step_s)} s/{progress.unit}", "muted"),)
        if progress.eta_s is not None:
            parts["eta"] = ((say(f"ETA {text.duration(progress.eta_s)}"), "muted"),)
    if not log.caught_up:
        parts["catching up"] = ((say(f"reading {log.scanned_part:.0%}"), "muted"),)
    return parts


class StatusLine(RowWidget):
    def show(self, view: View) -> None:
        place = ""  # such as `replay 1:10 of 4:25, paused`
        if (replay := self.hangtop.replay) is not None:
            (first, last), paused = replay.span, say(", paused" if replay.paused else "")
            place = say(f"replay {text.duration(replay.now() - first)} of {text.duration(last - first)}{paused}")
        self.paint((status_row(view, self.size.width, place),))


def terminal_title(view: View) -> str:
    """`■ HUNG 2:31 train.log`; a healthy run has no time in its title, so that it stands still."""
    if view.verdict is None:
        return f"hangtop {view.title}"
    look = verdict_label(view.verdict)
    age = f" {text.duration(view.verdict.silence_s)}" if look.fill else ""
    return f"{look.sign} {look.word}{age} {view.title}"
