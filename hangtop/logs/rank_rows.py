"""All ranks of all files in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec.structs import replace

from hangtop.logs.attempts import Attempts, IsPresent
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.extract.stages import stage_of
from hangtop.logs.file_facts import FileFacts, WriterFacts
from hangtop.logs.told_steps import best_of, counted, metrics_of, specific
from hangtop.records.log import RankLog


class RankRows:
    """The table. A rank whose writers told nothing since is not computed anew: of a thousand ranks, a handful write at a time."""

    def __init__(self) -> None:
        self._seen_by: tuple[Attempts, Sequence[Profile]] = (Attempts(), ())
        self._rows: dict[tuple[int, int], tuple[RankLog, list[WriterFacts], RankLog]] = {}
        """By file and rank: what the file tells of the rank, its writers, and its row by these."""

    def of(self, facts: Sequence[FileFacts], attempts: Attempts, profiles: Sequence[Profile]) -> list[RankLog]:
        """All ranks. If two files tell of one rank, the newer one counts."""
        if self._seen_by != (attempts, profiles):
            self._seen_by, self._rows = (attempts, profiles), {}
        table: dict[int, RankLog] = {}
        active, place = {profile.name for profile in profiles}, specific(profiles)
        for file in facts:
            is_present = attempts.is_present(file.file)
            told = {known.rank: _in_world(known, file.world) for known in file.ranks}
            by_rank: dict[int, list[WriterFacts]] = {number: [] for number in told}
            for writer in file.writers:
                if writer.rank is not None:
                    by_rank.setdefault(writer.rank, []).append(writer)
            for number, writers in by_rank.items():
                said = told.get(number) or RankLog(number)
                before = self._rows.get((file.file, number))
                if before is not None and before[:2] == (said, writers):
                    rank = before[2]
                else:
                    rank = _rank(said, writers, is_present, active, place)
                    self._rows[file.file, number] = (said, writers, rank)
                table[number] = _newer(table[number], rank) if number in table else rank
        return [table[number] for number in sorted(table)]


def _in_world(known: RankLog, size: int | None) -> RankLog:
    return replace(known, world=size) if size and not known.world else known


def _rank(
    known: RankLog, writers: Sequence[WriterFacts], is_present: IsPresent, active: Set[str], place: Mapping[str, bool]
) -> RankLog:
    """With what its writers tell of its course."""
    told = counted((seen for writer in writers for seen in writer.progress), is_present, place)
    best = best_of(told, place)
    marks = {name: mark for writer in writers for name, mark in writer.marks.items()}
    return replace(
        known,
        stage=stage_of(marks, active, is_present),
        step=int(best.step) if best and best.step is not None else None,
        total=int(best.total) if best and best.total is not None else None,
        step_at=best.at if best else None,
        step_s=best.step_s if best else None,
        last_at=max((writer.last_at for writer in writers if writer.last_at is not None), default=None),
        lines=sum(writer.lines for writer in writers),
        metrics=metrics_of(told),
    )


def _newer(first: RankLog, second: RankLog) -> RankLog:
    older, newer = sorted((first, second), key=lambda rank: (rank.step_at or 0.0, rank.step or -1))
    filled = {name: getattr(older, name) for name in newer.__struct_fields__ if getattr(newer, name) is None}
    last = [at for at in (first.last_at, second.last_at) if at is not None]
    return replace(newer, **{**filled, "last_at": max(last, default=None), "lines": first.lines + second.lines})
