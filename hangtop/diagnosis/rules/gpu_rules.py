"""Rules over the GPUs of a quiet run: the driver gives no answer, one has failed, all spin but one, all spin, or they compute."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from hangtop.common.text import clock, numbered, some
from hangtop.diagnosis.facts.gpu_evidence import gpu_evidence
from hangtop.diagnosis.facts.gpu_outliers import FactKind, GpuFact, facts
from hangtop.diagnosis.members.rank_gpus import gpu_host, of_run, ranks_on
from hangtop.diagnosis.rules.verdict_builders import silence
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.kernel_block import is_blocked
from hangtop.records.gpu import GpuReading, NodeGpus
from hangtop.records.health import NO_ANSWER_S
from hangtop.records.rank import Rank
from hangtop.records.verdict import Culprit, Evidence, Verdict

FAILED: tuple[FactKind, ...] = ("lost", "reset needed", "unknown error", "no answer")
"""Of these a GPU computes nothing any more, the surest first."""


def driver_doubted(snapshot: Snapshot) -> bool:
    """Whether a driver gives no answer, and not for long enough to tell. Where none is asked there may be none."""
    return any(_in_doubt(node.reading, snapshot.now) for node in snapshot.state.gpus.values())


def _in_doubt(node: GpuReading, now: float) -> bool:
    if node.stuck_since is not None:
        return now - node.stuck_since < NO_ANSWER_S
    if not node.gpus:
        return node.stuck_in is not None
    return all(gpu.status in ("reading", "late") for gpu in node.gpus)


def driver_hung(snapshot: Snapshot) -> Verdict | None:
    """The whole GPU driver of a node gives no answer, and the log is quiet (go-nvml#152, open-gpu-kernel-modules#1333).

    Stands before `blocked`: ranks that wait for the driver are blocked in the kernel, and the driver is why.
    """
    if snapshot.silence_s is None or snapshot.silence_s < min(NO_ANSWER_S, snapshot.quiet_s):
        return None
    for host, node in snapshot.state.gpus.items():
        since = node.reading.stuck_since
        if since is None or snapshot.now - since < NO_ANSWER_S:
            continue
        call = f" in {node.reading.stuck_in}" if node.reading.stuck_in else ""
        here = (rank for rank in snapshot.ranks if gpu_host(rank, snapshot.state) == host)
        stuck = [rank for rank in here if rank.process is not None and is_blocked(rank.process)]
        who, sit = numbered("rank", (rank.rank for rank in stuck)), "sits" if len(stuck) == 1 else "sit"
        held = f"; {who} {sit} in the kernel and cannot be killed" if stuck else ""
        headline = f"The {node.reading.vendor} driver on {host} gives no answer since {clock(since)}{call}{held}."
        culprits = tuple(Culprit(rank.rank, rank.pid, host, "likely", (rank.doing or "",)) for rank in stuck)
        evidence = (*gpu_evidence(snapshot.state, snapshot.now)[:2], *(_in_kernel(rank) for rank in stuck[:1]))
        refute = "the driver answers again"
        return Verdict("hung", headline, refute, "driver_hung", "certain", culprits=culprits, evidence=evidence)
    return None


def _in_kernel(rank: Rank) -> Evidence:
    process = rank.process
    since = f" since {clock(process.state_since)}" if process is not None and process.state_since is not None else ""
    where = f" in {rank.wchan}" if rank.wchan else ""
    return Evidence("procs", f"rank {rank.rank}, pid {rank.pid}, in state D{since}{where}, no I/O, no CPU time")


def failed(snapshot: Snapshot) -> Verdict | None:
    """A GPU of the run is lost, broken or gives no answer while the log is quiet. The rank on it never goes on.

    Stands before `blocked`: a rank on a broken GPU sits in the driver, and the GPU is why.
    """
    if not snapshot.is_quiet:
        return None
    found: list[tuple[GpuFact, Culprit]] = []
    for fact, culprit, node, _ in _suspects(snapshot):
        if fact.kind in FAILED and culprit.rank is not None and _for_long(node, fact.index, snapshot.now):
            found.append((fact, replace(culprit, confidence="certain" if fact.kind == "lost" else "likely")))
    if not found:
        return None
    first, culprit = min(found, key=lambda suspect: FAILED.index(suspect[0].kind))
    more = f", and {some(len(found) - 1, 'more GPU')} in trouble" if len(found) > 1 else ""
    return Verdict(
        word="hung",
        headline=f"GPU {first.index} of {culprit.name}: {first.text}{more}; no output since {snapshot.silent_since}.",
        refute="a line is written, or the GPU answers again",
        confidence=culprit.confidence,
        culprits=tuple(suspect for _, suspect in found),
        evidence=(*(Evidence("gpu", f"GPU {fact.index}: {fact.text}") for fact, _ in found[:3]), silence(snapshot)),
        next=(("3", "GPUs"), ("b", "bundle")),
    )


def _for_long(node: NodeGpus, index: int, now: float) -> bool:
    since = next((gpu.since for gpu in node.reading.gpus if gpu.index == index), None)
    return since is None or now - since >= NO_ANSWER_S


def spins(snapshot: Snapshot) -> Verdict | None:
    """GPUs at full utilisation and a fraction of their power compute nothing: they wait in a collective (NCCL#968,
    NCCL#1550). A GPU that does not spin is the suspect.

    Stands before `calls_in_a_ring`: a GPU that busy-waits tells a collective from any other wait.
    """
    if not snapshot.is_quiet:
        return None
    suspects: list[Culprit] = []
    waiting = 0
    for fact, suspect, _, is_told in _suspects(snapshot):
        waiting += fact.kind == "busy-wait"
        if fact.kind in ("idle", "empty", "lost") and (is_told or suspect.rank is not None):
            suspects.append(suspect)  # of a GPU that may be anybody's only where a rank is known to be on it
    if not waiting:
        return None
    odd = sorted({suspect.rank for suspect in suspects if suspect.rank is not None})
    does, wait = "does" if len(odd) == 1 else "do", "waits" if waiting == 1 else "wait"
    who = f"{numbered('rank', odd)} {does} not" if odd else "none stands out"
    return Verdict(
        word="hung",
        headline=f"{some(waiting, 'GPU')} {wait} busily in a collective, {who}; no output since {snapshot.silent_since}.",
        refute="their power rises, or a line is written",
        kind="nccl",
        culprits=tuple(suspects),
        evidence=gpu_evidence(snapshot.state, snapshot.now)[:3],
        next=(("s", "stacks"),),
    )


def _suspects(snapshot: Snapshot) -> Iterator[tuple[GpuFact, Culprit, NodeGpus, bool]]:
    """Each fact about a GPU that may be the run's, with the rank on it, else its machine alone, as a suspect; the node; and
    whether it is known which GPUs of that node are the run's."""
    pids = snapshot.pid_of
    for host, node in snapshot.state.gpus.items():
        mine, on_gpu = of_run(snapshot.state, host), ranks_on(snapshot.ranks, snapshot.state, host)
        for fact in facts(node, snapshot.now, mine):
            if mine is None or fact.index in mine:
                rank = next(iter(on_gpu.get(fact.index, ())), None)
                why = (f"GPU {fact.index} {fact.text}",)
                yield fact, Culprit(rank, pids.get(rank), host, "possible", why), node, mine is not None
