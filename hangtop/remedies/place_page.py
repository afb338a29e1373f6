"""The page of a place, or of a stage of a framework, for `hangtop explain`: what it means, causes, remedies, sources. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from hangtop.common.text import cells, wrap
from hangtop.logs.catalog.fix import Fix
from hangtop.logs.catalog.load import Catalog
from hangtop.logs.catalog.profile import Profile, Stage
from hangtop.remedies.catalogue import Places
from hangtop.remedies.place import Cause, Place, filled

WIDTH = 100
Say = Callable[[str], str]
BLANKS = {
    "who": "the rank", "pid": "PID", "any_pid": "PID", "peer_pid": "PID", "end": "PID", "holder": "PID", "tracer": "PID",
    "worker": "PID", "dead_worker": "PID", "stopped_worker": "PID", "own_pid": "PID", "own_end": "PID", "own_holder": "PID",
    "own_stopped_worker": "PID", "stranger": "PID", "log": "LOG", "path": "FILE", "folder": "FOLDER",
    "mount": "MOUNT", "device": "DEVICE", "address": "MASTER_ADDR", "port": "MASTER_PORT", "remote": "HOST:PORT",
    "remote_host": "HOST", "remote_port": "PORT", "own": "FUNCTION", "second": "ANOTHER",
    "trouble": "a part of Ray is sick", "mend": "start Ray again", "dead_actor": "an actor is dead", "where": "FILE:LINE",
    "missing": "rank N", "lost_node": "HOST", "apart": "rank N", "culprits": "rank N", "call": "the collective",
    "exit": "its exit code",
    "worker_end": "its end", "worker_does": "FUNCTION (FILE:LINE)", "does": "works", "asks": "GPUs", "asker": "an actor",
    "lack": "too few there", "until": "that moment", "pids": "PIDS", "checkpoints": "CHECKPOINTS",
    "operation": "the collective", "seq": "N", "batches_differ": "N on rank I, M on rank J",
    "parameters_differ": "N on rank I, M on rank J", "ray_logs": "/tmp/ray/session_latest/logs",
    "length_was": "few", "length_now": "more",
    "parted": "rank I in one collective, rank J in another", "branch": "rank I says one thing, the others another",
    "fewer": "collective number N, not number M", "alone_of": "N", "asked_gpus": "N GPUs on a node",
    "engine_stands": "N requests", "unknown_name": "HOST", "idle_engine": "N", "alike": "N processes",
    "parted_modules": "rank I in one module, rank J in another", "odd_call": "rank I N numbers, the others M",
    "together_in": "a collective", "apart_in_log": "rank I elsewhere", "few_microbatches": "N for M stages", "steps_done": "N",
    "failed_in": "FUNCTION", "removed": "removing FOLDER", "exit_lock": "FILE",
    "odd_timeout": "rank I in one collective, its peers in another", "late_at_data": "rank I at its data",
    "went_on": "the others went on to say another line", "loopback": "127.0.0.1", "engine_stages": "N stages",
    "raised": "FILE:LINE", "raised_inside": "FILE:LINE", "own_code": "FILE:LINE", "remote_code": "FILE:LINE",
    "innermost": "FILE:LINE", "at_clean_up": "FILE:LINE", "its_where": "FILE:LINE", "library": "PACKAGE", "caller": "ANOTHER",
    "odd_name": "a name", "odd_argument": "an argument", "missing_key": "a key", "condition": "a == b",
    "its_assertion": "x != 0", "inside": "PACKAGE", "called_from": "FILE:LINE", "linked": "FILE",
    "rank_beyond": "ranks=[0, 2]", "world_told": "N", "read_again": "FILE", "sizes_differ": "rank I: N, rank J: M",
    "copier": "kubectl", "copier_pid": "PID", "own_copier_pid": "PID", "run_place": "behind it",
}  # fmt: skip
"""What stands in a page for what is only known of a run."""


def place_page(place: Place, framework: str | None = None, say: Say = str) -> str:
    """The page on one place; with a framework without the remedies of others. `say`: puts a text in its reader's language."""
    lines = [f"{place.id}  {say(place.title)}", "", *_section("What it means", [place.text], say)]
    frameworks = None if framework is None else (framework,)
    for number, cause in enumerate((cause for cause in place.cause if cause.fits(frameworks)), 1):
        lines += _cause_lines(cause, number, frameworks, say)
    lines += _section("What makes it worse", place.worse, say) if place.worse else []
    lines += _section("What the usual advice gets wrong", [place.folklore], say) if place.folklore else []
    return "\n".join(lines).rstrip() + "\n"


def _cause_lines(cause: Cause, number: int, frameworks: Collection[str] | None, say: Say) -> list[str]:
    lines = _hanging(f"{number}. ", say(filled(cause.text, BLANKS)))
    if cause.tell:
        shows = f"   ({say(filled(cause.shows, BLANKS))})" if cause.shows else ""
        lines += _hanging(f"   {say('tell')}: ", filled(cause.tell, BLANKS) + shows)
    for do in cause.do:
        if do.fits(frameworks):
            lines += _hanging(f"   {say('do')}:   ", _do(do, frameworks, say))
    return [*lines, *_hanging(f"   {say('known')}: ", cause.source), ""]


def _do(do: Fix, frameworks: Collection[str] | None, say: Say) -> str:
    only = f"[{', '.join(do.frameworks)}] " if do.frameworks and frameworks is None else ""
    paste = f"   {say(do.where)}: {filled(do.set, BLANKS)}" if do.set else ""
    preset = f"   (hangtop restart --preset {do.preset})" if do.preset else ""
    return f"{only}{say(filled(do.text, BLANKS))}{paste}{preset}"


def stage_named(query: str, catalog: Catalog) -> tuple[Profile, Stage] | None:
    """The stage that `gkd:weight_sync` names; one that a profile lacks may be of the profile that it refines."""
    name, colon, stage_id = query.partition(":")
    profile = catalog.profiles.get(name) if colon else None
    while profile is not None:
        found = next((stage for stage in profile.stage if stage.id == stage_id), None)
        if found is not None:
            return profile, found
        profile = catalog.profiles.get(profile.refines or "")
    return None


def stage_page(profile: Profile, stage: Stage, places: Places, say: Say = str) -> str:
    """The page on one stage of a framework: its limits, causes and remedies, and the places for which it speaks."""
    frameworks = (profile.name, profile.framework, profile.refines or profile.name)
    lines = [
        f"{profile.name}:{stage.id}  {say(stage.title)} · {profile.title}"
        if say is not str
        else f"{profile.name}:{stage.id}  {stage.title} of {profile.title}",
        "",
    ]
    if limits := list(_limits(stage)):
        lines += _section("How long it takes", [", ".join(limits)], say)
    if hint := profile.stall_hint.get(stage.id, ""):
        lines += _section("Silence there", [hint], say)
    for place in places.values():
        if stage.id in place.stages:
            causes = [cause for cause in place.cause if cause.fits(frameworks) and stage.id in (cause.stages or (stage.id,))]
            lines += [line for number, cause in enumerate(causes, 1) for line in _cause_lines(cause, number, frameworks, say)]
            lines += _section("What makes it worse", place.worse, say) if place.worse else []
            lines += _section("What the usual advice gets wrong", [place.folklore], say) if place.folklore else []
    return "\n".join(lines).rstrip() + "\n"


def _limits(stage: Stage) -> Iterator[str]:
    for words, seconds in (
        ("about", stage.typical_s),
        ("slow after", stage.slow_after_s),
        ("stalled after", stage.stalled_after_s),
    ):
        if seconds is not None:
            yield f"{words} {seconds:.0f} s"


def listing(places: Places, say: Say = str) -> Iterator[str]:
    """One line a place."""
    wide = max(map(len, places), default=0)
    yield f"{say('places')}:"
    for place in places.values():
        yield f"  {place.id:<{wide}}  {say(place.title)}"


def _section(title: str, paragraphs: Iterable[str], say: Say) -> list[str]:
    return [say(title), *(f"  {line}" for text in paragraphs for line in wrap(say(text), WIDTH - 2)), ""]


def _hanging(head: str, text: str) -> list[str]:
    first, *rest = wrap(text, WIDTH - cells(head)) or [""]
    return [head + first, *(" " * cells(head) + line for line in rest)]
