"""Progress lines of all the frameworks, as data says them: step, total, seconds a step, time to go, metrics."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from hangtop.common.late_pattern import compiled
from hangtop.logs.catalog.profile import Profile, ProgressLine, Stage
from hangtop.logs.file_facts import ProgressSeen, Round
from hangtop.logs.lines.block_lines import Line
from hangtop.logs.lines.digit_shapes import Groups, all_groups, found_groups, shape_of
from hangtop.logs.lines.timestamps import seconds

_KILO = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NOT_METRICS = frozenset("step total n rate unit elapsed eta desc epoch epochs ep eps pct post kv ms sec".split())
_OWN = ("total", "step_s", "step_ms")
"""Plain names that are no metrics: the total of the steps, the time that one takes."""

_LONGEST = 2_000

_NO_LOSS_OF_TRAINING = re.compile(r"(?:^|[_/.-])(?i:val|valid|validation|eval|evaluation|test|dev|best|aux)[_/.A-Z-]")

_ROUND = (
    r"(?i)(?<![a-z])(?:epochs?|ep|round|episode|trial|fold|phase|cycle)\b(?:\([a-z]+\))?[ #:\[(=]{0,4}(?P<n>\d{1,6})\b"
    r"(?![.\d])(?: ?(?:/|of) ?(?P<of>\d{1,6})\b)?"
)
_ROUND_WITHIN = 120


class StepLine(Struct, frozen=True, gc=False):
    """A line that tells a step. `stages`: those that it proves. `is_full_bar`: it is a progress bar at its end."""

    seen: ProgressSeen
    stages: tuple[tuple[Profile, Stage], ...]
    line: Line
    is_full_bar: bool = False


def read(profile: Profile, progress: ProgressLine, line: Line) -> ProgressSeen | None:
    """What this progress line says; `None` when the line is not of this kind."""
    shape = shape_of(line.text)
    groups = found_groups(progress.regex, line.text, shape)
    if groups is None:
        return None
    said = groups.get
    metrics = metrics_in(progress, groups, line.text, shape)
    total, step_s, step_ms = (metrics.pop(name, None) for name in _OWN)
    return ProgressSeen(
        profile=profile.name,
        kind=progress.id,
        offset=line.offset,
        at=line.at,
        writer=line.writer,
        counts=progress.counts,
        coarse=progress.coarse,
        step=number(said("step") or said("n")),
        total=number(said("total")) or total,
        step_s=_step_s(groups) or step_s or (None if step_ms is None else step_ms / 1e3),
        elapsed_s=None if (elapsed := said("elapsed")) is None else seconds(elapsed),
        eta_s=None if (eta := said("eta")) is None else seconds(eta),
        round=None if progress.coarse else round_in(line.text, shape),
        metrics=metrics,
    )


def round_in(text: str, shape: str) -> Round | None:
    """The epoch, trial or fold that the beginning of a line names. `shape`: that of the text."""
    found = found_groups(_ROUND, text[:_ROUND_WITHIN], shape[:_ROUND_WITHIN])
    if found is None:
        return None
    return Round(int(found["n"]), int(found["of"]) if "of" in found else None)


def number(text: str | None) -> float | None:
    """A number as bars and metrics write it: `12`, `1.2k`, `1e-05`, `nan`, `-inf`; `None` for what is none."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return _number_with_unit(text)


def _number_with_unit(text: str) -> float | None:
    factor = _KILO.get(text[-1], 1.0)
    try:
        return float(text[:-1] if factor != 1.0 else text.replace(",", "")) * factor
    except ValueError:
        return None


def _step_s(groups: Groups) -> float | None:
    """Seconds a step: tqdm turns its rate round when it is slow (`50.98s/it`, but `2.00it/s`)."""
    if ms := number(groups.get("ms")):
        return ms / 1e3
    if sec := number(groups.get("sec")):
        return sec
    rate = number(groups.get("rate"))
    if not rate:
        return None
    return rate if (groups.get("unit") or "it/s").startswith("s/") else 1.0 / rate


def metrics_in(progress: ProgressLine, groups: Groups, text: str, shape: str) -> dict[str, float]:
    """Groups that are metrics keep their names; pairs count only when the profile gives them a plain name. Of a name that a whole
    line tells twice, the first counts: what it says of evaluation stands behind. A loss by another name counts where none is
    named as the profile does."""
    plain = progress.metrics
    raw = {name: groups[name] for name in _metric_groups(progress.regex) if name in groups}
    loss: str | None = None
    if within := text[:_LONGEST] if progress.whole else groups.get("kv"):
        for pair in all_groups(progress.pair_regex, within, shape[:_LONGEST] if progress.whole else shape_of(within)):
            key, value = pair["key"], pair["value"]
            if unit := pair.get("unit"):
                key = f"{key}[{unit}]"
            name = plain.get(key) or plain.get(key.lower())
            if name is not None and not (progress.whole and name in raw):
                raw[name] = value
            elif loss is None and is_loss(key):
                loss = value
    if loss is not None and progress.whole:
        raw.setdefault("loss", loss)
    known = [(plain.get(name, name), number(value.strip("'\" "))) for name, value in raw.items()]
    return {name: value for name, value in known if value is not None}


def is_loss(name: str) -> bool:
    """Whether this is a loss of training by its name: `avr_loss`, `main/loss`, `trainLoss`, but not `val_loss`."""
    ends = name.endswith("Loss") or (name.endswith("loss") and not name[-5:-4].isalnum())
    return ends and _NO_LOSS_OF_TRAINING.search(name) is None


@lru_cache(maxsize=512)
def _metric_groups(regex: str) -> tuple[str, ...]:
    """The groups of a regex that are values of metrics."""
    return tuple(name for name in compiled(regex).groupindex if name not in _NOT_METRICS)
