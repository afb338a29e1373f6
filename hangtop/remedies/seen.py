"""What was seen of a run, by the names of the slots in the texts of places. A slot that is not here was not seen."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from signal import SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV

from msgspec.structs import replace

from hangtop.common.text import clock, moment, numbered, some
from hangtop.diagnosis.facts.machine_evidence import want_of_memory
from hangtop.diagnosis.facts.ray_health import outlier_actors
from hangtop.diagnosis.facts.ray_pending import pending_resources
from hangtop.diagnosis.facts.unseen_nodes import unseen_nodes
from hangtop.diagnosis.members.log_copiers import where_the_run_is
from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.diagnosis.rules.ray_rules import name, needed_parts_sick
from hangtop.diagnosis.rules.rendezvous_rules import missing_ranks
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.by_waits import current_watch, ends_of
from hangtop.diagnosis.status.kernel_block import blocked_on
from hangtop.diagnosis.status.member_status import MemberStatus
from hangtop.records.nodes import node_of
from hangtop.records.process import Process, exit_words
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd
from hangtop.records.watch_spec import plain_file
from hangtop.remedies.seen_in_log import of_log
from hangtop.remedies.seen_in_stacks import was_forked
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.frames import owner

Seen = dict[str, str]

MOST_PIDS = 16
LATEST_SESSION = "/tmp/ray/session_latest"
SIGNALLED = ("end", "holder", "stopped_worker", "pid")
"""Slots of processes to which a remedy may give a signal."""
WAITS_FOR_EVENT = frozenset({"wait", "wait_for"})
"""Methods of an event or a condition; a plain lock is taken in C, without a frame."""
FAULTS = frozenset({-SIGILL, -SIGABRT, -SIGBUS, -SIGFPE, -SIGSEGV})
"""Exit codes with which C code broke off."""


def of_run(snapshot: Snapshot, verdict: Verdict) -> Seen:
    """What holds for the run as a whole, and whom its verdict accuses."""
    seen: Seen = {}
    if ranks := [culprit.rank for culprit in verdict.culprits if culprit.rank is not None]:
        seen["culprits"] = numbered("rank", ranks)
    if (log := plain_file(snapshot.spec.logs)) is not None:
        seen["log"] = log
    if snapshot.stage is not None:
        seen["stage"] = snapshot.stage.title
    seen.update((finding.id, "yes") for finding in snapshot.findings if finding.severity == "hint")
    seen.update(of_log(snapshot))
    living = [member for member in snapshot.members if member.status != "gone" and not node_of(member.pid)]
    if living:
        seen["pids"] = " ".join(str(member.pid) for member in living[:MOST_PIDS])
        seen["any_pid"] = str(living[0].pid)
    peers = [member for member in snapshot.members if member.waits_for_peers]
    if peers:
        seen["peers"] = some(len(peers), "rank" if all(peer.rank is not None for peer in peers) else "process")
        seen.update(("peer_pid", str(peer.pid)) for peer in peers[:1] if not node_of(peer.pid))
        if peers[0].call is not None:
            seen["call"] = peers[0].call
    saved = snapshot.state.checkpoints
    if folder := (saved.directory if saved is not None else None) or snapshot.log.checkpoint_dir:
        seen["checkpoints"] = folder
    if any(node.reading.gpus for node in snapshot.state.gpus.values()):
        seen["gpus"] = "yes"
    if snapshot.log.ray is not None or any(clusters_of_run(snapshot.state)):
        seen["ray"] = "yes"
    if snapshot.copier is not None:
        seen["copier"] = snapshot.copier.writer.name
        if snapshot.copier.stopped:
            seen["own_copier_pid"] = str(snapshot.copier.writer.pid)
        seen["copier_pid"] = str(snapshot.copier.writer.pid)
        seen["run_place"] = where_the_run_is(snapshot.copier.writer.command) or "behind it"
    if nobody_writes(snapshot.state):
        seen["nobody"] = "yes"
    hosts = {rank.host for rank in snapshot.ranks if rank.host}
    if len(hosts) > 1 or (snapshot.ranks and missing_ranks(snapshot)):
        seen["nodes"] = "yes"
    seen.update(_of_rendezvous(snapshot))
    seen.update(_of_ray(snapshot))
    return seen


def of_member(snapshot: Snapshot, member: MemberStatus) -> Seen:
    """What one member does, waits at, and for whom."""
    seen = {"who": member.name, "does": member.text}
    if not node_of(member.pid):  # a command with the pid of another node would mean a stranger here
        seen["pid"] = str(member.pid)
    if member.rank is not None:
        seen["rank"] = str(member.rank)
    if member.host:
        seen["host"] = member.host
    if member.doubted:
        seen["doubted"] = "yes"
    if member.does == "collective":
        seen["in_collective"] = "yes"
    if member.process.tracer_pid:  # with the node behind it no command here takes it for a pid of ours
        seen["tracer"] = str(member.process.tracer_pid) + (f" on {member.host}" if node_of(member.pid) else "")
    if was_forked(member.frames):
        seen["in_fork"] = "yes"
    if member.activity is not None:
        seen |= {"own": member.activity.own.name, "where": member.activity.where}
        if any("multiprocessing/synchronize" in frame.file for frame in member.frames):
            seen["mp_lock"] = "yes"
        if any(frame.file.endswith("/threading.py") and frame.name in WAITS_FOR_EVENT for frame in member.frames):
            seen["event"] = "yes"
        if member.does == "lock" and (second := _another_at_a_lock(snapshot, member)) is not None:
            seen["second"] = second
    if member.until is not None:
        seen["until"] = moment(member.until, snapshot.now)
    if member.side is not None and member.side.pid is not None:
        seen["end"] = str(member.side.pid)
        seen["holder"] = str(member.side.path[0]) if member.side.path else seen["end"]
    for end in kernel_ends(snapshot, member):
        seen |= _of_end(end)
    if (mount := blocked_on(snapshot.procs, {member.pid})) is not None:
        seen |= {"path": mount.file, "mount": mount.mount, "device": mount.device or mount.mount}
        if mount.answers is False:
            seen["dead_mount"] = "yes"
    if member.status == "gone":
        seen |= _of_death(snapshot, member.process)
    seen |= _of_loader(snapshot, member)
    return seen | _of_owner(snapshot, seen)


def _of_owner(snapshot: Snapshot, seen: Seen) -> Seen:
    """Of the processes in question those that are proven to be the run's: only to these a remedy gives a signal. `stranger`: the
    first that is not."""
    procs = snapshot.procs
    proven = set() if procs.taken else {str(process.pid) for process in procs.processes}
    told = [(slot, seen[slot]) for slot in SIGNALLED if slot in seen]
    strangers = [pid for _, pid in told if pid not in proven]
    return {f"own_{slot}": pid for slot, pid in told if pid in proven} | ({"stranger": strangers[0]} if strangers else {})


def _another_at_a_lock(snapshot: Snapshot, member: MemberStatus) -> str | None:
    """Another thread of the same process that waits for a lock in the user's code: `flush (writer.py:20)`."""
    stacks = (stack for look in reversed(snapshot.state.looks) for stack in look.stacks if stack.pid == member.pid)
    stack = next(stacks, None)
    mine = member.activity.thread.tid if member.activity is not None else None
    for thread in stack.threads if stack is not None else ():
        known = activity_of(replace(stack, threads=(thread,))) if thread.tid != mine and stack is not None else None
        if known is not None and known.kind == "lock" and owner(known.own.file) == "user":
            return f"{known.own.name} ({known.where})"
    return None


def kernel_ends(snapshot: Snapshot, member: MemberStatus) -> tuple[OtherEnd, ...]:
    """The ends of what this member was seen to wait at in the kernel; none where it was not watched."""
    watch = current_watch(snapshot.state, snapshot.pause_s)
    return () if watch is None else ends_of(watch, member)


def _of_end(end: OtherEnd) -> Seen:
    thing = end.object
    seen: Seen = {}
    if thing.path:
        seen |= {"path": thing.path, "folder": posixpath.dirname(thing.path) or "."}
    if thing.kind == "tcp" and thing.remote and thing.tcp_state != "listen":
        address, _, port = thing.remote.rpartition(":")
        seen |= {"remote": thing.remote, "remote_host": address.strip("[]"), "remote_port": port}
        if end.elsewhere:
            seen["elsewhere"] = "yes"
    if end.pids and "holder" not in seen:
        seen["holder"] = str(end.pids[0])
    return seen


def _of_rendezvous(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    where, missing = snapshot.procs.rendezvous, missing_ranks(snapshot)
    if missing:
        yield "missing", numbered("rank", missing)
        yield from (("lost_node", node.host) for node in unseen_nodes(snapshot)[:1])
    if where is None:
        return
    yield from (("address", where.address), ("port", str(where.port)))
    if where.another_listens:
        yield "another_listens", "yes"
    elif where.listening is False:
        yield "nobody_listens", "yes"
    elif where.listening:
        yield "listens", "yes"
    if where.missing and where.joined:
        yield "apart", numbered("rank", where.missing)


def _of_ray(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for trouble in needed_parts_sick(snapshot)[:1]:
        yield "trouble", trouble.text
        if trouble.mend:
            yield "mend", trouble.mend
    own = clusters_of_run(snapshot.state)
    yield "ray_logs", f"{next((cluster.folder for cluster in own if cluster.folder), LATEST_SESSION)}/logs"
    for cluster in own:
        for pending in pending_resources(cluster)[:1]:
            yield from (("asks", pending.asks), ("asker", pending.who))
            if pending.lack:
                yield "lack", pending.lack
            yield ("impossible" if pending.impossible else "taken"), "yes"
        for odd in outlier_actors(cluster):
            if not odd.actor.has_process:
                yield "dead_actor", f"{name(odd.actor)}: {odd.why}"
                break


def _of_death(snapshot: Snapshot, process: Process) -> Seen:
    """Of what a process died, as far as its exit code and the kernel's count tell."""
    starved, code = want_of_memory(snapshot.state, process), process.exit_code
    seen: Seen = {} if code is None else {"exit": exit_words(code)}
    if starved is not None and starved.supports:
        seen["oom"] = "yes"
    elif code == -SIGKILL:
        seen["sigkill"] = "yes"
    if code in FAULTS:
        seen["fault"] = "yes"
    if code == -SIGBUS:
        seen["sigbus"] = "yes"
    if code == 0:
        seen["left"] = "yes"
    elif code is not None and code > 0:
        seen["failed"] = str(code)
    return seen


def _of_loader(snapshot: Snapshot, member: MemberStatus) -> Seen:
    """The data workers of a member that waits for data: which of them stands where."""
    if member.does not in ("dataloader", "queue", "pipe") and member.status != "dataloader":
        return {}
    workers = [process for process in snapshot.procs.processes if process.ppid == member.pid and process.role == "data worker"]
    dead = [process for process in snapshot.procs.processes if process.ppid == member.pid and process.exited]
    if dead:
        return {"dead_worker": str(dead[0].pid), "worker_end": dead[0].doing} | _of_death(snapshot, dead[0])
    if not workers:
        return {"no_worker": "yes"} if member.status == "dataloader" else {}
    seen = {"workers": " ".join(str(worker.pid) for worker in workers[:MOST_PIDS]), "worker": str(workers[0].pid)}
    stopped = [worker for worker in workers if worker.state in "Tt"]
    if stopped:
        return seen | {"worker": str(stopped[0].pid), "stopped_worker": str(stopped[0].pid)}
    for pid, known in _stands(snapshot, {worker.pid for worker in workers}):
        seen |= {"worker": str(pid), "worker_does": f"{known.text} ({known.where})", "worker_where": known.where}
        seen |= {"worker_lock": "yes"} if known.kind == "lock" else {}
        seen |= {"worker_network": "yes"} if known.kind in ("network", "remote") else {}
        seen |= {"worker_file": "yes"} if known.kind == "io" else {}
        break
    return seen


def _stands(snapshot: Snapshot, pids: Iterable[int]) -> Iterator[tuple[int, Activity]]:
    """What these processes were seen in last, those that do more than wait for work."""
    wanted = set(pids)
    for look in reversed(snapshot.state.looks):
        for stack in look.stacks:
            known = activity_of(stack) if stack.pid in wanted else None
            if known is not None and known.kind != "loader_worker":
                yield stack.pid, known


def evidence_of(snapshot: Snapshot, member: MemberStatus) -> str:
    """What one member was seen to do, as a sentence."""
    still = ", and its stack stands still" if member.moved is False else ""
    return f"{member.name} {_verbed(member)}{still}"


def _verbed(member: MemberStatus) -> str:
    first = member.text.partition(" ")[0]
    return member.text if first.endswith("s") and first != "is" else f"is {member.text.removeprefix('is ')}"


def since_words(snapshot: Snapshot) -> str:
    """`in training since 10:04:24, silent since 10:05:51`."""
    stage = snapshot.stage
    at = "" if stage is None or stage.at is None else f" since {clock(stage.at)}"
    words = snapshot.silence_words
    return f"{snapshot.where}{at}; {words[0].lower()}{words[1:]}"
