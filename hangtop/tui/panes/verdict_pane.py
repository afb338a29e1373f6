"""The verdict band: two quiet lines for a healthy run, five for a slow one, up to six in trouble, everything on its page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from hangtop.common import text
from hangtop.diagnosis.facts.leftover_members import CLEAN, SOURCE
from hangtop.records.advice import Advice
from hangtop.records.log import Finding, LogReading
from hangtop.records.verdict import Verdict
from hangtop.render.advice_rows import NAME_CELLS, brief_rows
from hangtop.render.evidence_rows import EVIDENCE_CELLS, evidence_row
from hangtop.render.spans import BLANK, Row, align, at_most, between, cut, folded, width_of
from hangtop.render.verdict_labels import KINDS, verdict_label
from hangtop.render.view import View
from hangtop.state.run_state import RunState
from hangtop.translations import say
from hangtop.tui.keymap import USUAL_KEYS, Keymap
from hangtop.tui.keys import Key, all_keys, word_of
from hangtop.tui.panes.stages_pane import LAST_STAGE
from hangtop.tui.widgets.row_widget import RowWidget

SENTENCE = re.compile(r"(?<=\. )|(?<=。)(?=.)")
METRICS = ("loss", "reward", "grad_norm", "lr", "throughput", "tokens_per_s")
"""Metrics that are shown first, in this order; others follow by name."""
SPARK = 12
ALL = all_keys(read_only=False, replay=False)
Keys = tuple[Sequence[Key], Keymap]
"""The keys that do something here, and how they are typed."""
LEAST_READ_B_S = 1_000_000
"""Verdicts whose evidence is worth a bundle."""


def verdict_rows(view: View, width: int, lines: int | None, keys: Sequence[Key] = ALL, keymap: Keymap = USUAL_KEYS) -> list[Row]:
    """`lines`: the room. Without advice evidence is dropped first, the refutation and the next steps never. With it, why and do
    come before evidence, and the refutation only where rows are left. `None`: a page, which shows all uncut, and the advice in a
    part of its own. `keys`: available keys; suggestions for other keys are hidden. `keymap`: how they are typed here."""
    verdict = view.verdict
    if verdict is None:
        return [(("▏ ", "muted"), (say("reading …"), "muted")), (("▏", "muted"),)]
    if verdict.state.healthy and view.state.log is not None:
        return _calm_rows(view, view.state.log, verdict, width, (keys, keymap), whole=lines is None)
    return _trouble_rows(verdict, width, lines, (keys, keymap), view.advice)


def _calm_rows(view: View, log: LogReading, verdict: Verdict, width: int, keys: Keys, *, whole: bool) -> list[Row]:
    """Two lines, and what was noted; what makes it slow with its cause and its remedy."""
    edge = ("▏ ", "ok")
    headline, told = say(verdict.headline), say(verdict.detail)
    detail = told if whole else _last_sentences(told, width - 4 - cell_len(headline))
    first: Row = ((headline, "ink bold"), ("  ", ""), (detail, "muted"))
    rows: list[Row] = [(edge, *row) for row in (folded(first, width - 2, 0) if whole else [cut(first, width - 2)])]
    rows.append((edge, *_figures(view.state, log, verdict, width - 2)))
    if left := "; ".join(say(fact.text) for fact in verdict.evidence if fact.source == SOURCE):
        cleans = CLEAN in verdict.next and _is_there(CLEAN[0], keys[0])
        key: Row = (("   ", ""), (f"{keys[1].typed(CLEAN[0])} ", "accent bold"), (say(CLEAN[1]), "ink")) if cleans else BLANK
        rows.append((edge, *cut(((left, "warn"),), width - 2 - width_of(key)), *key))
    if verdict.word == "running" and verdict.evidence:
        rows.append((edge, *cut(((say("noted "), "warn"), (say(text.first_line(verdict.evidence[0].text)), "ink")), width - 2)))
    return rows + [(edge, *row) for row in brief_rows(view.advice, width - 2)]


def _last_sentences(text_: str, cells: int) -> str:
    """The last sentences that fit: the last one holds the limit, earlier ones are on the screen elsewhere."""
    sentences = SENTENCE.split(text_)
    while len(sentences) > 1 and cell_len("".join(sentences)) > cells:
        del sentences[0]
    return "".join(sentences)


def _figures(state: RunState, log: LogReading, verdict: Verdict, width: int) -> Row:
    """Progress bar, step time and metrics with sparks, as many as fit."""
    groups: list[Row] = []
    progress = log.progress
    if progress.step is not None and progress.total:
        part = progress.step / progress.total
        filled, track = text.bar(part, 26 if width >= 100 else 20)
        colour = "ok" if verdict.word == "finished" else "data"
        groups.append(((filled, colour), (track, "faint"), (f" {part:4.0%}".replace("%", " %"), "ink")))
    elif (stages := _stages_done(log)) is not None:
        groups += [stages, *_filling(state)]
    if progress.step_s is not None:
        groups.append(_figure(progress.unit, f"{text.pace(progress.step_s)} s", progress.history.get("step_s", ())))
    for name in (*METRICS, *sorted(progress.metrics)):
        if name in progress.metrics and name != "step_s" and (name in METRICS or len(groups) < 4):
            value = progress.metrics[name]  # `None` stands for NaN, which JSON lacks
            figure = _figure(name, "NaN" if value is None else text.metric(value), progress.history.get(name, ()))
            if figure not in groups:
                groups.append(figure)
    row: Row = ()
    for group in groups:
        wider = (*row, ("   ", ""), *group) if row else group
        if width_of(wider) > width:
            break
        row = wider
    return row


def _filling(state: RunState) -> list[Row]:
    """What moves while a run starts: bytes read, and GPU memory."""
    read = sum(process.read_b_s or 0.0 for procs in state.processes.values() for process in procs.processes)
    reads = [_figure("reads", f"{text.size(int(read))}/s", ())] if read >= LEAST_READ_B_S else []
    used = [gpu.used_bytes for node in state.gpus.values() for gpu in node.reading.gpus if gpu.used_bytes is not None]
    tracks = [track.used_bytes.means for node in state.gpus.values() for track in node.tracks.values()]
    past = next((means for means in tracks if len(means) > 1), ())
    return [*reads, *([_figure(say("GPU memory"), text.size(sum(used)), past)] if used else [])]


def _stages_done(log: LogReading) -> Row | None:
    ids = [stage.id for stage in log.plan if not stage.id.startswith("engine_")]
    ids = ids[: ids.index(LAST_STAGE) + 1] if LAST_STAGE in ids else ids
    entered = {event.id for event in log.stages if event.attempt == log.attempt}
    reached = max((i for i, id_ in enumerate(ids) if id_ in entered), default=None)
    if reached is None:
        return None
    filled, track = text.bar(reached / len(ids), 26)
    return ((filled, "data"), (track, "faint"), (say(f"  {reached} of {text.some(len(ids), 'stage')}"), "ink"))


def _figure(name: str, value: str, history: Sequence[float | None]) -> Row:
    shown = text.spark(history, SPARK)
    return (
        (f"{say(name)} ", "muted"),
        (value, "bad bold" if value in ("NaN", "Inf", "−Inf") else "ink"),
        (f" {shown}" if shown else "", "data"),
    )


def _trouble_rows(verdict: Verdict, width: int, lines: int | None, keys: Keys, advice: Sequence[Advice]) -> list[Row]:
    look = verdict_label(verdict)
    sure = say(verdict.confidence) + (f" · {say(KINDS[verdict.kind])}" if verdict.kind and (width >= 90 or lines is None) else "")
    first: Row = ((look.word, f"{look.role} bold"), ("  ", ""), (say(verdict.headline), "ink bold"))
    refute: Row = (("  − ", "muted bold"), (say(f"wrong if {verdict.refute}"), "muted")) if verdict.refute else BLANK
    following = _next_row(verdict, keys)
    if lines is None:
        evidence = [evidence_row(fact, look.role) for fact in verdict.evidence]
        rows = [*folded(first, width - 2, 4), ((f"    {sure}", "muted"),)]
        rows += [line for row in (*evidence, refute, following) if row for line in folded(row, width - 2, EVIDENCE_CELLS)]
    else:
        brief = brief_rows(advice, width - 2)
        tail = [row for row in (*brief, BLANK if brief else refute, following) if row]
        aside: Row = ((sure, "muted"), (" ", ""))
        room = max(1, lines - len(tail) - (bool(verdict.evidence) and not brief))
        top, *more = at_most(folded(first, width - 2, 4, width_of(aside) + 1), room, width - 2)
        left = lines - 1 - len(more) - len(tail)
        facts = _facts(verdict, look.role, left if brief else max(1, left), width - 2)
        spare = [refute] if brief and refute and left > len(facts) else []
        rows = [between(top, aside, width - 2), *more, *facts, *spare, *tail]
    return [(("▌ ", look.role), *cut(row, width - 2)) for row in rows]


def _facts(verdict: Verdict, role: str, lines: int, width: int) -> list[Row]:
    """A line for each piece of evidence; spare lines go to longer pieces, the first ones first."""
    shown = verdict.evidence[: max(0, lines)]
    rows: list[Row] = []
    for number, fact in enumerate(shown, 1):
        room = lines - len(rows) - (len(shown) - number)
        rows += at_most(folded(evidence_row(fact, role), width, EVIDENCE_CELLS), room, width)
    return rows


def _next_row(verdict: Verdict, keys: Keys) -> Row:
    """The next steps with their keys, where those do something here."""
    evidence = () if not verdict.state.trouble or any(key == "b" for key, _ in verdict.next) else (("b", "bundle"),)
    steps = [(key, what) for key, what in (*verdict.next, *evidence) if not word_of(key) or _is_there(key, keys[0])]
    if not steps:
        return BLANK
    row: Row = (align(f"    {say('next')}", 4 + NAME_CELLS, "muted"),)
    for index, (key, what) in enumerate(steps):
        typed = f"{keys[1].typed(key)} " if key and word_of(key) else ""
        row = (*row, ("   " if index else "", ""), (typed, "accent bold"), (say(what), "ink"))
    return row


def _is_there(shown: str, keys: Sequence[Key]) -> bool:
    return any(key.shown == shown for key in keys)


def findings_of(log: LogReading | None) -> tuple[Finding, ...]:
    """The findings for the page, in the order of the log reading."""
    return () if log is None else tuple(finding for finding in log.findings if finding.role != "noise")


class VerdictBand(RowWidget):
    """Tinted by the role of the verdict."""

    DEFAULT_CSS = """
    VerdictBand.bad { background: $tint-bad; }
    VerdictBand.warn { background: $tint-warn; }
    """

    def show(self, view: View) -> None:
        calm = view.verdict is None or view.verdict.state.healthy
        role = "" if calm or view.verdict is None else verdict_label(view.verdict).role
        for name in ("bad", "warn"):
            self.set_class(role == name, name)
        self.paint(verdict_rows(view, self.size.width, self.size.height, self.hangtop.keys, self.hangtop.keymap))

    def on_click(self) -> None:
        self.hangtop.action_verdict()
