"""The files of one run joined into one reading: one framework, one course of stages, all ranks in one table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from hangtop.logs.attempts import Attempts, IsPresent, attempts_of, since_start
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.extract import layout_sizes, ray_sessions_named
from hangtop.logs.extract.framework_votes import active, leading
from hangtop.logs.extract.stages import StageCourse, StageMachine, plan_of, proven_by
from hangtop.logs.file_facts import FileFacts, Kind, ProgressSeen, StageMark
from hangtop.logs.findings import findings_of
from hangtop.logs.rank_rows import RankRows
from hangtop.logs.step_times import step_times_of
from hangtop.logs.told_steps import best_of, counted, metrics_of, specific
from hangtop.records.log import LogFile, LogLine, LogReading, Pace, Progress, RankLog, Work

LEFT_S = 60.0
"""A line that tells the last step of all tells no time that is left; rounding may leave some."""
BURST_S = 1.0
"""Lines nearer to each other are one word: the ranks of a run say the same of one step."""


def join_logs(
    facts: Sequence[FileFacts],
    files: Sequence[LogFile],
    catalog: Catalog,
    *,
    profile: str | None = None,
    last_output_at: float | None = None,
    outputs: Sequence[tuple[FileFacts, float]] = (),
    caught_up: bool = True,
    known: Mapping[int, RankLog] | None = None,
    tail: tuple[LogLine, ...] = (),
    fresh: bool = False,
    beside: Sequence[FileFacts] = (),
    began_at: float | None = None,
    older: Mapping[int, int] | None = None,
    rows: RankRows | None = None,
) -> LogReading:
    """The reading of all files. `profile`: the one that the user chose. `known`: ranks sent before, left out if nothing changed.
    `outputs`: files with the time of their last byte. `beside`: files of single ranks, no part of the course. `began_at`: of the
    processes that run now; `older`: the byte of each file below which all is older. `rows`: the ranks as told before."""
    profiles = active(catalog.profiles, _best_scores(facts), profile)
    everything = (*facts, *beside)
    courses = {file.file: _course(file, profiles, catalog) for file in facts}
    lead = max(facts, key=lambda file: _weight(file, courses), default=None)
    course = courses[lead.file] if lead else StageCourse()
    attempts = attempts_of(facts, courses, lead.file) if lead else Attempts()
    attempts = attempts if began_at is None else since_start(attempts, everything, began_at, older or {})
    events = attempts.renumbered(course.events)
    ranks = (RankRows() if rows is None else rows).of(everything, attempts, profiles)
    progress, kind = _progress(facts, attempts, profiles)
    pace = _pace(facts, kind)
    reading = LogReading(
        files=tuple(files),
        caught_up=caught_up,
        last_output_at=last_output_at,
        last_line=_last_line(facts, files),
        framework=leading(profiles),
        profiles=tuple(profile.name for profile in profiles),
        attempt=attempts.count,
        world=max((file.world for file in facts if file.world), default=None),
        mesh=layout_sizes.chosen(facts, profiles, catalog),
        workers=next((file.workers for file in facts if file.workers), None),
        stages=events,
        plan=plan_of(profiles, events),
        progress=_with_pace(progress, pace, _history(facts, profiles)),
        pace=pace,
        findings=findings_of(everything, attempts, catalog, profiles, events),
        longest_silence_s=max((file.longest_silence_s for file in facts if file.longest_silence_s), default=None),
        announced_until=_announced_until(facts, beside, last_output_at),
        work=_work(facts, last_output_at),
        paused_until=max((file.paused_until for file in facts if file.paused_until is not None), default=None),
        checkpoint_dir=next((file.checkpoint_dir for file in facts if file.checkpoint_dir), None),
        stack_dumps=next((file.stack_dumps for file in facts if file.stack_dumps), None),
        ranks=tuple(rank for rank in ranks if (known or {}).get(rank.rank) != rank),
        tail=tail,
        fresh=fresh,
        ray=ray_sessions_named.together(file.ray for file in facts),
        step_times=step_times_of(facts, attempts),
    )
    return _with_limits(_with_beats(_with_amounts(reading), outputs), profiles)


def _with_amounts(reading: LogReading) -> LogReading:
    """With how much was read of all files."""
    scanned, size = sum(file.scanned_bytes for file in reading.files), sum(file.size_bytes for file in reading.files)
    lines = [file.lines for file in reading.files if file.lines is not None]
    return replace(
        reading,
        bytes=scanned,
        lines=sum(lines) if len(lines) == len(reading.files) else None,
        scanned_part=scanned / size if size else 1.0,
    )


def _with_beats(reading: LogReading, outputs: Sequence[tuple[FileFacts, float]]) -> LogReading:
    """With what tells news from lines that only come again and again."""
    newest = max(outputs, key=lambda each: each[1], default=(FileFacts(0), 0.0))[0]
    at = reading.last_output_at
    return replace(
        reading,
        news_at=_since(((file.idle_s, file.new_at, written_at) for file, written_at in outputs), at),
        clockwork_since=_since(((file.clockwork_s, file.moved_at, written_at) for file, written_at in outputs), at),
        repeats=newest.repeats,
        beat_s=max((file.beat_s for file, _ in outputs), default=0.0),
        beats_untimed=newest.beats_untimed,
        beats_in_course=newest.beats_in_course,
    )


def _with_limits(reading: LogReading, profiles: Sequence[Profile]) -> LogReading:
    """With the times that the leading profile knows."""
    if not profiles:
        return reading
    lead = profiles[0]
    return replace(
        reading, teacher_wait_s=lead.teacher_wait_s, start_normal_s=lead.start_normal_s, start_suspect_s=lead.start_suspect_s
    )


def _since(idle: Iterable[tuple[float, float | None, float]], last_output_at: float | None) -> float | None:
    """Since when no file said more: by the idle seconds before the last byte of each, and the time of the line before these;
    `None` where the last byte told it."""
    ends = (at if idle_s < BURST_S else at - idle_s if told_at is None else min(told_at, at) for idle_s, told_at, at in idle)
    since = max(ends, default=None)
    return None if since is None or last_output_at is None or since > last_output_at - BURST_S else since


def _best_scores(facts: Sequence[FileFacts]) -> dict[str, int]:
    """The best score of each profile in any file."""
    return {name: max(file.scores.get(name, 0) for file in facts) for name in {name for file in facts for name in file.scores}}


def _pace(facts: Sequence[FileFacts], kind: Kind | None) -> Pace:
    """The pace of the file that has most steps of this kind."""
    paces = [file.paces[kind].pace for file in facts if kind in file.paces] if kind else []
    return max(paces, key=lambda pace: pace.steps, default=Pace())


def _announced_until(facts: Sequence[FileFacts], beside: Sequence[FileFacts], last_output_at: float | None) -> float | None:
    """When an announced wait ends, wherever it was announced. In a line of the run's logs without a time it counts from the last
    output, whenever the log is read."""
    known = [file.announced_until for file in (*facts, *beside) if file.announced_until]
    if last_output_at is not None:
        known += [last_output_at + file.undated_wait_s for file in facts if file.undated_wait_s]
    return max(known, default=None)


def _work(facts: Sequence[FileFacts], last_output_at: float | None) -> Work | None:
    """What the run said last that it does. In a line without a time it counts from the last output, whenever the log is read."""
    timed = (work if work.at is not None else replace(work, at=last_output_at) for file in facts for work in file.works)
    return max((work for work in timed if work.at is not None), key=lambda work: work.at or 0.0, default=None)


def _course(facts: FileFacts, profiles: Sequence[Profile], catalog: Catalog) -> StageCourse:
    fatal = [finding for finding in facts.findings if finding.severity == "fatal"]
    course = StageMachine(profiles, facts.file, [finding.offset for finding in fatal]).run(_timed_marks(facts))
    for finding in fatal:
        signature = catalog.signatures.get(finding.id)
        proves = finding.role == "cause" or (finding.role == "victim" and not course.events)
        if signature is not None and proves and not finding.survived:
            course = proven_by(course, finding, signature.stage, profiles)
    return _with_reruns(course, facts.begun_again, [finding.offset for finding in fatal if not finding.survived])


def _with_reruns(course: StageCourse, begun: Sequence[tuple[int, float | None]], fatal_at: Sequence[int]) -> StageCourse:
    """With the restarts that no stage shows, but the lines of an attempt that follow the error which ended the one before."""
    restarts = list(course.restarts)
    for offset, _ in begun:
        if any(ended < offset and not any(ended < known for known in restarts) for ended in fatal_at):
            restarts.append(offset)
    if len(restarts) == len(course.restarts):
        return course
    restarts.sort()
    events = [replace(event, attempt=1 + sum(offset <= event.offset for offset in restarts)) for event in course.events]
    return StageCourse(tuple(events), tuple(restarts))


def _timed_marks(facts: FileFacts) -> Iterator[StageMark]:
    """The marks, those in lines without a time with that of the stamped line beside them, or above them. The time of the file
    tells only when its last line was written."""
    for mark in facts.marks:
        written = facts.times.get(mark.offset) if mark.at is None else None
        if written is not None:
            by_file = written.about == written.not_after and written.not_before != written.about
            mark = replace(mark, at=written.not_before if by_file or written.about is None else written.about)
        yield mark


def _weight(facts: FileFacts, courses: Mapping[int, StageCourse]) -> tuple[int, int, float, float]:
    """The file with the greatest weight tells most of the course of the run: rank 0's, or the driver's."""
    events = courses[facts.file].events
    newest_at = max((event.at for event in events if event.at is not None), default=-math.inf)
    return (sum(facts.scores.values()), len(events), -math.inf if facts.rank is None else -facts.rank, newest_at)


def _last_line(facts: Sequence[FileFacts], files: Sequence[LogFile]) -> str | None:
    """The last line of the file that was written last."""
    written = {number: file.modified_at or 0.0 for number, file in enumerate(files)}
    spoken = [file for file in facts if file.last_line]
    newest = max(spoken, key=lambda file: written.get(file.file, 0.0), default=None)
    return newest.last_line if newest else None


def _progress(facts: Sequence[FileFacts], attempts: Attempts, profiles: Sequence[Profile]) -> tuple[Progress, Kind | None]:
    """The progress of the furthest writer, and the kind of line that tells it."""
    place = specific(profiles)
    found: list[tuple[bool, bool, float, ProgressSeen, FileFacts]] = []
    for file in facts:
        is_present = attempts.is_present(file.file)
        for writer in file.writers:
            best = best_of(counted(writer.progress, is_present, place), place)
            found += [(place[best.profile], not best.coarse, best.step or 0.0, best, file)] if best else []
    metrics = _run_metrics(facts, attempts, place)
    if not found:
        return Progress(metrics=metrics), None
    *_, best, where = max(found, key=lambda item: item[:3])
    return Progress(
        step=int(best.step or 0),
        total=_total(best, where),
        step_s=best.step_s,
        eta_s=best.eta_s,
        unit="step",
        partial=_is_partial(best, where, attempts.is_present(where.file)),
        in_round=best.round is not None and best.round.total is None,
        metrics=metrics,
    ), (best.profile, best.kind)


def _is_partial(best: ProgressSeen, where: FileFacts, is_present: IsPresent) -> bool:
    """Whether the run is not over when this count reaches its total: its line tells that time is left, or that more epochs come;
    or it is within a longer count that goes on; or the epochs that the file counts tell it; or the count began again after its
    total before; or another count was begun behind it, and stands before its end."""
    if best.round is not None and best.round.total is not None:
        return best.round.number < best.round.total - 1  # some count from 0
    own = where.paces.get((best.profile, best.kind))
    if best.step == best.total and (best.eta_s or 0.0) > LEFT_S:
        return True
    if own is not None and own.unfinished is not None and is_present(*own.unfinished):
        return True
    everyone = [seen for writer in where.writers for seen in writer.progress]
    if any(seen.offset > best.offset and seen.counts and seen.total and (seen.step or 0) < seen.total - 1 for seen in everyone):
        return True
    told = (seen for seen in everyone if seen.coarse and seen.counts and seen.total and is_present(seen.offset, seen.at))
    epochs = max(told, key=lambda seen: seen.offset, default=None)
    if epochs is not None and epochs.step is not None and epochs.total is not None:
        return epochs.step < epochs.total - 1  # some count from 0
    return own is not None and own.in_rounds


def _total(best: ProgressSeen, where: FileFacts) -> int | None:
    """The total in the line itself, else in another line (`Total training steps: 870`), else in another bar at this step."""
    total = best.total if best.total is not None else where.totals.get((best.profile, best.kind))
    if total is None:
        bars = (seen for writer in where.writers if writer.writer == best.writer for seen in writer.progress)
        total = next((bar.total for bar in bars if bar.counts and bar.total and bar.step == best.step), None)
    return None if total is None else int(total)


def _run_metrics(facts: Sequence[FileFacts], attempts: Attempts, place: Mapping[str, bool]) -> dict[str, float | None]:
    merged: dict[str, float | None] = {}
    for file in facts:
        everyone = (seen for writer in file.writers for seen in writer.progress)
        merged = metrics_of(counted(everyone, attempts.is_present(file.file), place)) | merged
    return merged


def _history(facts: Sequence[FileFacts], profiles: Sequence[Profile]) -> dict[str, tuple[float | None, ...]]:
    names = specific(profiles)
    longest: dict[str, tuple[float | None, ...]] = {}
    for file in facts:
        for (profile, _), pace in file.paces.items():
            for name, values in pace.history.items():
                if profile in names and len(values) > len(longest.get(name, ())):
                    longest[name] = values
    return longest


def _with_pace(progress: Progress, pace: Pace, history: dict[str, tuple[float | None, ...]]) -> Progress:
    """The progress with seconds a step and time to go: as measured, else as the line itself tells."""
    eta_s = progress.eta_s
    if progress.total is not None and progress.step is not None:
        left = max(0, progress.total - progress.step)
        eta_s = left * pace.mean_s if pace.mean_s else eta_s if left else 0.0
    return replace(progress, step_s=pace.p50_s or progress.step_s, eta_s=eta_s, history=history)
