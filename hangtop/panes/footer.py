"""The footer: keys on the left, sources on the right."""

from __future__ import annotations

from hangtop import text
from hangtop.panes.keys import NEVER_DROPPED, Key
from hangtop.panes.line import LineView, Row, between, width_of
from hangtop.panes.view import View
from hangtop.records.health import SourceHealth
from hangtop.spec import ASKED_SOURCES

STUCK_S = 10.0
HIDDEN = frozenset(ASKED_SOURCES)
ORDER = ("log", "procs", "gpu", "ray", "stacks", "nccl", "checkpoints")


def source_sign(health: SourceHealth) -> tuple[str, str]:
    """(sign, role): live, late, stuck, refused, absent."""
    if health.absent is not None:
        return "○", "stale"
    if health.problem is not None:
        return "?", "warn"
    if health.busy_s > max(STUCK_S, health.deadline_s):
        return "■", "bad"
    if health.busy_s > health.deadline_s:
        return "▲", "warn"
    return "●", "ok"


def sources_row(view: View) -> Row:
    if view.state.probe is not None and not view.state.probe.alive:
        return (("■ ", "bad"), ("probe is gone", "bad"))
    row: Row = ()
    for health in _known(view):
        sign, role = source_sign(health)
        late = f" {text.age(health.busy_s)}" if role in ("bad", "warn") and health.busy_s > health.deadline_s else ""
        row = (
            *row,
            ("  " if row else "", ""),
            (f"{sign} ", role),
            (health.name + late, "muted" if role in ("ok", "stale") else role),
        )
    return row


def sources_short(view: View) -> Row:
    """`● 4 sources`, with the worst sign."""
    known = _known(view)
    if not known or (view.state.probe is not None and not view.state.probe.alive):
        return sources_row(view)
    worst = max((source_sign(h) for h in known), key=lambda sign: ("○●?▲■").index(sign[0]))
    return ((f"{worst[0]} ", worst[1]), (text.some(len(known), "source"), "muted"))


def keys_row(keys: tuple[Key, ...], gap: int = 3) -> Row:
    row: Row = ()
    for key in keys:
        row = (*row, (" " * gap if row else "", ""), (f"{key.shown} ", "accent bold"), (key.word, "muted"))
    return row


def footer_row(view: View, width: int, keys_there: tuple[Key, ...], *, brief: bool = False) -> Row:
    """Keys drop from the end; help and quit never do. `brief`: the sources as one sign, for the keys of a page matter more."""
    keys = [key for key in keys_there if key.word]
    short = width < 100
    right = (*(sources_short(view) if short or brief else sources_row(view)), (" ", ""))
    gap = 2 if short else 3
    while width_of(keys_row(tuple(keys), gap)) + width_of(right) + 2 > width:
        spare = [key for key in keys if key.shown not in NEVER_DROPPED]
        if not spare:
            right = ()
            break
        keys.remove(spare[-1])
    return between(((" ", ""), *keys_row(tuple(keys), gap)), right, width)


def _known(view: View) -> list[SourceHealth]:
    known = [health for health in view.state.health.values() if health.name not in HIDDEN]
    return sorted(known, key=lambda h: (ORDER.index(h.name) if h.name in ORDER else len(ORDER), h.name))


class Footer(LineView):
    def show(self, view: View) -> None:
        self.paint((footer_row(view, self.size.width, self.hangtop.keys),))
