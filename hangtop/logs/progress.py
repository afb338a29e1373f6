"""Progress lines of all the frameworks, as data says them: step, total, seconds a step, time to go, metrics."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from hangtop.logs.lines import Line, Writer
from hangtop.logs.profile import Profile, ProgressLine
from hangtop.logs.signature import compiled
from hangtop.logs.stamps import seconds

_KILO = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NOT_METRICS = frozenset("step total n rate unit elapsed eta desc epoch epochs ep eps pct post kv ms".split())


Groups = dict[str, str | None]
"""What each group of a progress line's regex holds; `None` for one that the line does not have."""


class Sighting(Struct, frozen=True):
    """One progress line, as it was read. `profile` and `kind` name the pattern; `counts`: it is the run's step, not a bar of
    loading. `elapsed_s`: the bar's own clock. Values that the line does not carry are `None`."""

    profile: str
    kind: str
    offset: int
    at: float | None
    writer: Writer
    counts: bool
    step: float | None = None
    total: float | None = None
    step_s: float | None = None
    elapsed_s: float | None = None
    eta_s: float | None = None
    desc: str = ""
    metrics: dict[str, float] = {}


def read(profile: Profile, progress: ProgressLine, line: Line) -> Sighting | None:
    """What this progress line says; `None` when the line is not of this kind."""
    found = compiled(progress.regex).search(line.text)
    if found is None:
        return None
    groups = found.groupdict()
    said = groups.get
    return Sighting(
        profile=profile.name,
        kind=progress.id,
        offset=line.offset,
        at=line.at,
        writer=line.writer,
        counts=progress.counts,
        step=number(said("step") or said("n")),
        total=number(said("total")),
        step_s=_step_s(groups),
        elapsed_s=None if (elapsed := said("elapsed")) is None else seconds(elapsed),
        eta_s=None if (eta := said("eta")) is None else seconds(eta),
        desc=(said("desc") or "").strip(),
        metrics=_metrics(progress, groups),
    )


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
    rate = number(groups.get("rate"))
    if not rate:
        return None
    return rate if (groups.get("unit") or "it/s").startswith("s/") else 1.0 / rate


def _metrics(progress: ProgressLine, groups: Groups) -> dict[str, float]:
    """Groups that are metrics keep their names; pairs inside `kv` count only when the profile gives them a plain name."""
    plain = progress.metrics
    raw = {name: value for name in _metric_groups(progress.regex) if (value := groups[name]) is not None}
    if text := groups.get("kv"):
        for pair in compiled(progress.pair).finditer(text):
            if (name := plain.get(pair["key"])) is not None:
                raw[name] = pair["value"]
    known = [(plain.get(name, name), number(value.strip("'\" "))) for name, value in raw.items()]
    return {name: value for name, value in known if value is not None}


@lru_cache(maxsize=512)
def _metric_groups(regex: str) -> tuple[str, ...]:
    """The groups of a regex that are values of metrics."""
    return tuple(name for name in compiled(regex).groupindex if name not in _NOT_METRICS)
