"""Rules over a quiet run whose members live: who waits for whom, and does anybody work?

Localised only by difference between ranks (as STAT, ByteRobust and Minder do). A rank that works comes before every hang, for its
peers spin at 100 % GPU while it saves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hangtop.diagnosis import gpu_rules, nccl_rules
from hangtop.diagnosis.case import Case
from hangtop.diagnosis.doing import doing
from hangtop.diagnosis.frames import Phase
from hangtop.diagnosis.laggards import laggards
from hangtop.diagnosis.standing import Standing, works
from hangtop.records.process import Process
from hangtop.records.verdict import Confidence, Culprit, Evidence, Kind, Verdict
from hangtop.text import duration, rank_ranges, size, some

GROWN_S = 30.0
"""A checkpoint that grew this lately is being written."""
PAIRWISE = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list"})
"""Calls between two ranks: where as many wait in these as in a collective of all, these were left alone."""
BY_PHASE: dict[Phase, Kind] = {"weights": "weight_sync", "generate": "generation"}
BY_STAGE: dict[str, Kind] = {"weight_sync": "weight_sync", "rollout": "generation"}


def rendezvous(case: Case) -> Verdict | None:
    """Members wait to meet: who never came?"""
    meeting = [one for one in case.standings if one.how == "rendezvous"]
    if not case.is_quiet or not meeting:
        return None
    astray = [one for one in case.standings if one.how in ("waits", "loops", "unknown", "dataloader")]
    if any(one.alive for one in case.standings):
        return None
    missing = _missing_ranks(case)
    place = _meeting_place(case)
    apart = _unconnected(case, meeting)
    if astray:
        culprits = tuple(_culprit(case, one) for one in astray)
        headline = f"{_names(astray)} never joined the process group: {astray[0].text}; {_count(meeting)} wait{_s(meeting)}."
    elif missing:
        culprits = tuple(Culprit(rank, None, None, "likely", ("no such process here, and it never joined",)) for rank in missing)
        headline = f"{_rank_names(missing)} never came; {_count(meeting)} wait{_s(meeting)} for the process group{place}."
    elif apart:
        why = f"holds no connection to the meeting point{place}"
        culprits = tuple(Culprit(one.rank, one.pid, one.host, "likely", (why, one.text)) for one in apart)
        headline = f"{_names(apart)} never reached the meeting point{place}; {some(len(meeting) - len(apart), 'rank')} did."
    else:
        culprits = ()
        headline = f"{_count(meeting)} wait{_s(meeting)} for the process group and no peer comes{place}{_nobody(case)}."
    evidence = (_stack_evidence(meeting), *_meeting_evidence(case), _silence(case))
    return _hung(headline, "rendezvous", culprits, evidence, "a missing rank connects")


def dataloader(case: Case) -> Verdict | None:
    """The trainer waits for its data workers: are they at work?"""
    waiting = [one for one in case.standings if one.how == "dataloader"]
    if not case.is_quiet or not waiting or any(one.alive for one in case.standings):
        return None
    workers = {one.pid: _workers(case, one) for one in waiting}
    everyone = [worker for below in workers.values() for worker in below]
    if busy := [worker for worker in everyone if works(worker)]:
        text = f"{some(len(busy), 'data worker')} of {len(everyone)} at work"
        return _slow(case, f"{_names(waiting)} waits for data, and the loader works.", "dataloader", (Evidence("procs", text),))
    idle = f"all {len(everyone)} data workers idle" if everyone else "no data worker is left"
    what = "" if not everyone else _worker_place(case, everyone)
    headline = f"{_names(waiting)} wait{_s(waiting)} for data that never comes: {idle}{what}."
    culprits = tuple(_culprit(case, one) for one in waiting)
    return _hung(
        headline,
        "dataloader",
        culprits,
        (_stack_evidence(waiting), Evidence("procs", idle), _silence(case)),
        "a data worker uses CPU",
    )


def alive(case: Case) -> Verdict | None:
    """Somebody who is not waiting works: slow, do not kill."""
    if not case.is_quiet:
        return None
    working = [one for one in case.standings if one.alive]
    growing = _growing(case)
    computing = gpu_rules.works(case)
    if not working and growing is None and not computing:
        return None
    peers = [one for one in case.standings if one.waits_for_peers]
    evidence = [Evidence("procs", f"{one.name}: {_life(one)}") for one in working[:2]]
    evidence += computing[:1]
    if growing is not None:
        evidence.insert(0, growing)
    if peers:
        evidence.append(_stack_evidence(peers))
    if working:
        who = f"{_names(working)} {_at_work(working)}"
    else:
        who = "A checkpoint is being written" if growing is not None else "The GPUs compute"
    waiting = f"; {_count(peers)} wait{_s(peers)} for it" if peers else ""
    sure = growing is not None or computing or any(not one.doubted for one in working)
    advice = "Do not kill it." if sure else "That is work, or a loop without end: time tells."
    return _slow(case, f"{who}{waiting}. {advice}", None, tuple(evidence))


def desync(case: Case) -> Verdict | None:
    """All wait for their peers, but in different collectives: they took different ways."""
    waiting = [one for one in case.standings if one.how == "collective"]
    if not case.is_quiet or len(waiting) < 2 or len(waiting) < len(case.standings):
        return None
    calls = Counter(one.call for one in waiting)
    if len(calls) < 2:
        return None
    common, _ = calls.most_common(1)[0]
    odd = [one for one in waiting if one.call != common]
    if 2 * len(odd) == len(waiting) and (pairwise := [one for one in waiting if one.call in PAIRWISE]):
        odd = pairwise
    culprits = tuple(_culprit(case, one) for one in odd) if 2 * len(odd) < len(waiting) or odd[0].call in PAIRWISE else ()
    groups = " but ".join(
        f"{_names([one for one in waiting if one.call == call]).lower()} in {call}" for call, _ in calls.most_common()
    )
    evidence = (Evidence("stacks", groups), _silence(case))
    return _hung(f"The ranks parted: {groups}.", "desync", culprits, evidence, "the next look shows them in the same call")


def straggler(case: Case) -> Verdict | None:
    """Peers wait for ranks that neither work nor come."""
    peers = [one for one in case.standings if one.waits_for_peers]
    odd = [one for one in case.standings if one.how in ("waits", "loops", "dataloader", "unknown")]
    if not case.is_quiet or not peers or not odd or (len(odd) > len(peers) and not all(_stands(one) for one in odd)):
        return None
    looping = all(one.how == "loops" for one in odd)
    orphaned = [one for one in odd if _dead_workers(case, one)]
    kind: Kind = "python_loop" if looping else "dataloader" if orphaned else _waiting_kind(case, odd)
    culprits = tuple(_culprit(case, one) for one in odd)
    headline = (
        f"{_names(odd)} never entered {peers[0].call}; {_count(peers)} wait{_s(peers)} for {'it' if len(odd) == 1 else 'them'}."
    )
    apart = "; ".join(f"{one.name} {one.text}{_still(one)}" for one in odd[:2])
    ended = tuple(Evidence("procs", f"{one.name}: its child {_dead_workers(case, one)[0].pid} has died") for one in orphaned[:2])
    evidence = (Evidence("stacks", f"{_count(peers)} in {peers[0].call}, {apart}"), *ended, _silence(case))
    refute = f"{_names(odd).lower()} leaves {odd[0].doing.own.name if odd[0].doing else 'this place'}"
    return _hung(headline, kind, culprits, evidence, refute)


def _stands(one: Standing) -> bool:
    """Seen to stand still in code of its own. Where such are the most, they are blamed all the same; an idle worker is not."""
    return one.moved is False and one.doing is not None and one.doing.kind not in ("idle", "remote")


def all_wait(case: Case) -> Verdict | None:
    """All members that are here wait in one collective: for a rank elsewhere, or for a broken link."""
    if not case.is_quiet or not case.standings or any(one.how != "collective" for one in case.standings):
        return None
    missing = _missing_ranks(case)
    behind = laggards(case)
    call = case.standings[0].call
    if missing:
        headline = (
            f"All {len(case.standings)} ranks here wait in {call}; {_rank_names(missing).lower()} run elsewhere, or not at all."
        )
    else:
        headline = f"All {len(case.standings)} ranks wait in {call} and none stands out."
    evidence = (_stack_evidence(list(case.standings)), _silence(case))
    return _hung(headline, _waiting_kind(case, case.standings), behind, evidence, "one of them leaves the collective")


def standing_still(case: Case) -> Verdict | None:
    """No peers are known: everyone here stands still at one place, over two looks at least."""
    members = [one for one in case.standings if one.how in ("waits", "loops")]
    if not case.is_quiet or not members or len(members) < len(case.standings):
        return None
    if any(one.moved is not False and one.how != "loops" for one in members):
        return None
    looping = members[0].how == "loops"
    kind: Kind = "python_loop" if looping else _stage_kind(case) or "unknown"
    evidence = (*(Evidence("stacks", f"{one.name}: {one.text}{_still(one)}") for one in members[:2]), _silence(case))
    culprits = tuple(_culprit(case, one) for one in members) if len(members) == 1 else ()
    return _hung(
        f"{_names(members)}: {members[0].text}, and nothing moves.", kind, culprits, evidence, "its stack moves, or it uses CPU"
    )


def _hung(headline: str, kind: Kind, culprits: tuple[Culprit, ...], evidence: tuple[Evidence, ...], refute: str) -> Verdict:
    sure: Confidence = "likely" if any(one.confidence != "possible" for one in culprits) else "possible"
    return Verdict(
        word="hung",
        headline=headline,
        refute=refute,
        kind=kind,
        confidence=sure,
        culprits=culprits,
        evidence=evidence,
        next=(("s", "stacks"),),
    )


def _slow(case: Case, headline: str, kind: Kind | None, evidence: tuple[Evidence, ...]) -> Verdict:
    return Verdict(
        word="slow",
        headline=headline,
        refute="the work stops and nothing is written",
        kind=kind,
        confidence="likely" if len(evidence) > 1 else "possible",
        evidence=(*evidence, _silence(case)),
        next=(("s", "stacks"), ("f", "follow")),
    )


def _culprit(case: Case, one: Standing) -> Culprit:
    """Two signals that agree make it likely: its stack, and that it did not move, or stays behind in the log."""
    why = [one.text]
    if one.moved is False:
        why.append("its stack stands still")
    why += nccl_rules.reasons(case, one.rank)
    why += [reason for other in laggards(case) if other.rank == one.rank and one.rank is not None for reason in other.why]
    return Culprit(one.rank, one.pid, one.host, "likely" if len(why) > 1 else "possible", tuple(why))


def _waiting_kind(case: Case, members: Sequence[Standing]) -> Kind:
    """What the peers wait in: a stage that says so, or the names of the functions these members are in.

    Else NCCL where the run has GPUs, else a collective on the CPU.
    """
    on_gpu = any(node.reading.gpus for node in case.state.gpus.values())
    phases = (one.doing.phase for one in members if one.doing is not None and one.doing.phase is not None)
    by_name = next((BY_PHASE[phase] for phase in phases if phase in BY_PHASE), None)
    return _stage_kind(case) or by_name or ("nccl" if on_gpu else "cpu_collective")


def _stage_kind(case: Case) -> Kind | None:
    return None if case.stage is None else BY_STAGE.get(case.stage.id)


def _missing_ranks(case: Case) -> list[int]:
    """Ranks of the world that no process here has."""
    worlds = [one.process.world for one in case.standings if one.process is not None and one.process.world]
    here = {one.rank for one in case.standings}
    return [rank for rank in range(max(worlds, default=0)) if rank not in here]


def _meeting_place(case: Case) -> str:
    where = None if case.procs is None else case.procs.rendezvous
    return "" if where is None else f" at {where.address}:{where.port}"


def _unconnected(case: Case, meeting: list[Standing]) -> list[Standing]:
    """Those who wait to meet without a connection to the master's port, where others have one: a wrong address, a firewall."""
    where = None if case.procs is None else case.procs.rendezvous
    if where is None or not where.joined:
        return []
    return [one for one in meeting if one.rank in where.missing]


def _nobody(case: Case) -> str:
    where = None if case.procs is None else case.procs.rendezvous
    return ", where nobody listens: rank 0 should" if where is not None and where.listening is False else ""


def _meeting_evidence(case: Case) -> tuple[Evidence, ...]:
    where = None if case.procs is None else case.procs.rendezvous
    if where is None:
        return ()
    listening = {True: "somebody listens", False: "nobody listens", None: "who listens is hidden"}[where.listening]
    joined = "" if where.established is None else f", {some(where.established, 'connection')}"
    world = "" if where.world is None else f" of world size {where.world}"
    return (Evidence("procs", f"{where.address}:{where.port}: {listening}{joined}{world}"),)


def _workers(case: Case, trainer: Standing) -> list[Process]:
    processes = () if case.procs is None else case.procs.processes
    return [one for one in processes if one.role == "data worker" and one.ppid == trainer.pid]


def _dead_workers(case: Case, parent: Standing) -> list[Process]:
    """Children of a member that waits for a batch, dead and not asked for: their exit was never noticed."""
    if parent.doing is None or parent.doing.kind not in ("queue", "dataloader", "pipe") or case.procs is None:
        return []
    return [one for one in case.procs.processes if one.ppid == parent.pid and one.state in "ZX"]


def _worker_place(case: Case, workers: list[Process]) -> str:
    """Where the workers stand, when their stacks are known."""
    pids = {worker.pid for worker in workers}
    for look in reversed(case.state.looks):
        for stack in look.stacks:
            if stack.pid in pids and (known := doing(stack)) is not None and known.kind != "loader_worker":
                return f", pid {stack.pid} {known.text} ({known.where})"
    return ""


def _growing(case: Case) -> Evidence | None:
    saved = case.state.checkpoints
    if saved is None or saved.grown_at is None or case.now - saved.grown_at > GROWN_S or not saved.growth_b_s:
        return None
    return Evidence("disk", f"{saved.newest or saved.directory} grows by {size(int(saved.growth_b_s))}/s")


def _life(one: Standing) -> str:
    process = one.process
    if process is None:
        return one.text
    cpu = process.subtree_cpu_percent or process.cpu_percent or 0.0
    io = process.subtree_io_b_s or 0.0
    moved = ", its stack moves" if one.moved else ""
    rate = f", {size(int(io))}/s to or from disk" if io > 1_000_000 else ""
    return f"{cpu:.0f} % CPU{rate}{moved}: {one.text}"


def _stack_evidence(waiting: list[Standing]) -> Evidence:
    calls = Counter(one.call or one.how for one in waiting)
    return Evidence(
        "stacks", ", ".join(f"{_names([one for one in waiting if (one.call or one.how) == call])} in {call}" for call in calls)
    )


def _silence(case: Case) -> Evidence:
    return Evidence("log", f"silent since {case.silent_since}, limit {duration(case.quiet_s)}")


def _still(one: Standing) -> str:
    return ", still there at the next look" if one.moved is False else ""


def _count(members: list[Standing]) -> str:
    """`7 ranks`; processes where no rank is known."""
    if any(one.rank is not None for one in members):
        return some(len(members), "rank")
    return "1 process" if len(members) == 1 else f"{len(members)} processes"


def _s(members: list[Standing]) -> str:
    return "s" if len(members) == 1 else ""


def _at_work(members: list[Standing]) -> str:
    """`works in evaluate (train.py:30)`; a wait that is work all the same is said to be so: `is at work: waits for a file …`."""
    first, many = members[0], len(members) > 1
    verb, _, rest = first.text.partition(" ")
    if verb in ("works", "saves", "loads", "compiles"):
        return f"{verb[:-1] if many else verb} {rest}"
    by_others = (
        first.doing is not None and first.doing.kind == "idle" and first.process is not None and first.process.subtree_size > 1
    )
    return f"{'are' if many else 'is'} at work: {'its child processes compute' if by_others else first.text}"


def _names(members: list[Standing]) -> str:
    """`Rank 3`, `Ranks 0-2 4`, or processes where no rank is known."""
    ranks = [one.rank for one in members if one.rank is not None]
    if ranks:
        return _rank_names(ranks)
    return f"Process {members[0].pid}" if len(members) == 1 else f"{len(members)} processes"


def _rank_names(ranks: list[int]) -> str:
    return f"Rank{'s' if len(ranks) > 1 else ''} {rank_ranges(ranks)}"
