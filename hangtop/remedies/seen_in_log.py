"""What the log alone tells of where a run stands, by the names of slots: how far it is, what it said last, what timed out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from hangtop.common.grouped import grouped
from hangtop.diagnosis.facts.missing_voice import other_ways, unfinished
from hangtop.diagnosis.facts.nccl_calls import odd_call
from hangtop.diagnosis.facts.stacks_in_log import kept_waiting, left_alone, parted, printed
from hangtop.diagnosis.facts.timed_out import TimedOut, sizes_that_differ, timed_out
from hangtop.diagnosis.facts.told_counts import OF_PARAMETERS, Counts, counts_told
from hangtop.diagnosis.facts.watchdog_counts import launched_fewer, ran_out_elsewhere
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.logs.finding_order import began_after
from hangtop.records.log import Finding, LogLine, Progress
from hangtop.remedies.seen_in_words import LAST_BYTES, MEMBER, loop_begun_since, of_words

ROUND_END = 0.05
"""The last part of an epoch in which ranks with fewer batches have none left. Of 39 hung logs of the corpus with a known total
two stood right at the end of a round, two 0.8 and 4 % before it (uneven batches, a validation), all others 62 % and more."""
LEAST_ROUND = 10
FEW_NUMBERS = 64
"""A barrier sums one number (ProcessGroupNCCL::barrier), a metric a few; weights and gradients are far more. Of 26 timed out
sums in the corpus 17 are of 1 number, the others of 4,096 and more."""
LONGER = 1.3
"""Answers that grew by this factor explain steps that did."""
FEW_LINES = 8
"""So many lines before a collective ran out of time may tell what it was for."""
SET_UP = 4
"""The first collectives of a group belong to its set-up."""
_OF_WEIGHTS = re.compile(
    r"(?i)weights?[ _-]?(?:update|sync|transfer|broadcast)"
    r"|(?:updat|sync|transfer|broadcast|send|push)\w{0,4}[ _-](?:\w{1,20}[ _-])?weights?"
)
"""`awex_weights_update`, `updating weights`, `sync_weights`."""
_RAN_OUT = re.compile(r"\bcollective operation timeout\b")
OF_SEVERAL = ("nccl.", "dist.", "mark.nccl_", "mark.zero3", "mark.fsdp", "mark.reducer", "mark.member", "mark.elastic")
"""How the ids of messages begin that only a run of several ranks writes."""
ALONE = frozenset({"generic", "tqdm"})
"""What is known of a loop that nothing but its steps tells: it may as well be of one process."""
GATHERS = ("ALLGATHER", "_ALLGATHER")
TRACKER = "mark.tracker_starts"
MOST_NAMED = 2
"""So many ranks that took another path are told one by one."""
SUMS = ("ALLREDUCE", "REDUCE_SCATTER", "_REDUCE_SCATTER", "REDUCE")


def of_log(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """What fills slots, or stands for itself (`yes`)."""
    stage, plan = snapshot.stage, snapshot.plan
    if stage is not None and plan is not None and plan.steady and not snapshot.log.progress.step:
        yield "first_step", "yes"
    if _of_several(snapshot):
        yield "several", "yes"
    if _ends_round(snapshot.log.progress) and (_of_several(snapshot) or snapshot.log.framework not in ALONE):
        yield "round_end", "yes"
    lengths = snapshot.log.pace.lengths
    if lengths is not None and lengths.now >= LONGER * lengths.was:
        yield from (("length_was", f"{lengths.was:,.0f}"), ("length_now", f"{lengths.now:,.0f}"))
    if _two_ranks_in_one(snapshot.state.tail):
        yield "ranks_twice", "yes"
    yield from _counts_that_differ(counts_told(snapshot))
    for collective in timed_out(snapshot)[:1]:
        yield from (("operation", collective.operation), ("seq", f"{collective.seq:,}"))
    yield from ((name, "yes") for name in _kinds(timed_out(snapshot)))
    if sizes := sizes_that_differ(snapshot):
        most, least = (end(sizes, key=lambda rank: sizes[rank].numel) for end in (max, min))
        yield "sizes_differ", f"rank {most}: {sizes[most].numel:,}, rank {least}: {sizes[least].numel:,}"
    if not launched_fewer(snapshot) and (elsewhere := ran_out_elsewhere(snapshot)):
        yield "odd_timeout", "; ".join(f"rank {one.rank} {one.why[0]}" for one in elsewhere[:MOST_NAMED])
    else:
        yield from _behind(timed_out(snapshot))
    if any(_OF_WEIGHTS.search(f"{each.group}") for each in timed_out(snapshot)) or _sent_weights(snapshot.state.tail):
        yield "sends_weights", "yes"
    yield from of_words(snapshot)
    if together := parted(snapshot):
        yield "parted", together
        if any(each.gathers_weights for each in printed(snapshot)):
            yield "parted_modules", together
    if (odd := odd_call(snapshot)) is not None:
        yield "odd_call", odd.text
    yield from _few_microbatches(snapshot.findings)
    apart, together = ("", "") if together else left_alone(snapshot)
    if apart:
        yield from (("apart_in_log", apart), ("together_in", together))
    late, joint = kept_waiting(snapshot)
    if late:
        yield from (("late_at_data", late), ("together_in", joint))
    if odd_ranks := unfinished(snapshot).ranks:
        yield "went_on", next(iter(odd_ranks.values()))
    for rank, (own, others) in list(other_ways(snapshot).items())[:1]:
        yield "branch", f"rank {rank}: “{own}”, the others: “{others}”"


def said_last(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether the run stands right behind this message: it is among the last ones, and no stage began since; while no step was
    made it may stand further up, too."""
    stage, log = snapshot.stage, snapshot.log
    if finding.survived or finding.attempt != log.attempt:
        return False
    if finding.id == TRACKER and loop_begun_since(snapshot.state.tail, finding):
        return False
    if stage is not None and snapshot.plan is not None and snapshot.plan.steady and not log.progress.step:
        return True
    file = log.files[finding.file] if finding.file < len(log.files) else None
    near = file is not None and file.size_bytes - finding.last_offset < LAST_BYTES
    return near and (stage is None or not began_after(stage, finding))


def _few_microbatches(findings: Iterable[Finding]) -> Iterator[tuple[str, str]]:
    """Whether a pipeline was told to have fewer micro batches than stages."""
    for finding in findings:
        told = finding.groups
        if finding.id == "mark.pipeline" and int(told.get("micro", 0)) < int(told.get("stages", 0)):
            yield "few_microbatches", f"{told['micro']} for {told['stages']} stages"


def _of_several(snapshot: Snapshot) -> bool:
    """Whether anything says that the run has several ranks."""
    told = any(finding.id.startswith(OF_SEVERAL) for finding in snapshot.findings)
    return told or (snapshot.log.world or 0) > 1 or len(snapshot.ranks) > 1


def _sent_weights(lines: Sequence[LogLine]) -> bool:
    """Whether weights were sent right before the first collective ran out of time."""
    place = next((place for place, line in enumerate(lines) if _RAN_OUT.search(line.text)), 0)
    return any(_OF_WEIGHTS.search(line.text) for line in lines[max(0, place - FEW_LINES) : place])


def _ends_round(progress: Progress) -> bool:
    """Whether the last step told is one of the last of an epoch."""
    step, total = progress.step, progress.total
    return step is not None and total is not None and total >= LEAST_ROUND and 0 <= total - step <= max(1.0, total * ROUND_END)


def _two_ranks_in_one(lines: Iterable[LogLine]) -> bool:
    """Whether a rank has said twice that it joins the group, while others have not come: two processes take themselves for it."""
    told = [(int(member["rank"]), int(member["world"])) for line in lines for member in MEMBER.finditer(line.text)]
    ranks, world = [rank for rank, _ in told], max((world for _, world in told), default=0)
    return len(set(ranks)) < len(ranks) and len(set(ranks)) < world


def _counts_that_differ(counts_by_what: Counts) -> Iterator[tuple[str, str]]:
    """What ranks said of how many batches, samples or parameters they have, where that is not the same."""
    for what, counts in counts_by_what.items():
        most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        yield (
            "parameters_differ" if what.startswith(OF_PARAMETERS) else "batches_differ",
            f"{counts[most]:,} {what} on rank {most}, {counts[least]:,} on rank {least}",
        )


def _behind(collectives: Collection[TimedOut]) -> Iterator[tuple[str, str]]:
    """Where a rank stands that is behind its peers in another operation of their group: `ALLREDUCE number 8, not SEND …`."""
    for group in grouped(collectives, lambda each: each.group).values():
        least, most = (end(group, key=lambda each: each.seq) for end in (min, max))
        if least.seq < most.seq and least.operation != most.operation:
            yield "fewer", f"{least.operation} number {least.seq:,}, not {most.operation} number {most.seq:,}"


def _kinds(collectives: Collection[TimedOut]) -> Iterator[str]:
    """What these collectives are for, by their names and sizes."""
    by_place: dict[tuple[str, int], set[str]] = {}
    for each in collectives:
        by_place.setdefault((each.group, each.seq), set()).add(each.operation)
    if any(len(operations) > 1 for operations in by_place.values()):
        yield "operations_differ"
    for each in list(collectives)[:1]:
        if each.seq <= SET_UP:
            yield "set_up"
        if each.operation in ("SEND", "RECV") or each.operation.startswith("COALESCED"):
            yield "to_neighbour"
        elif "ALLTOALL" in each.operation:
            yield "to_experts"
        elif each.operation == "BARRIER" or 0 <= each.numel <= FEW_NUMBERS:
            yield "few_numbers"
        elif each.operation.startswith(GATHERS):
            yield "gathers_weights"
        elif each.operation.startswith(SUMS):
            yield "sums_gradients"
