"""What should be looked at next? Stacks, and what processes wait for, when a run is quiet for so long that a verdict may be
needed. Pure; the edges ask."""

from __future__ import annotations

from collections import Counter

from hangtop.common.grouped import grouped
from hangtop.diagnosis.facts.after_end import may_work_on
from hangtop.diagnosis.facts.last_words import may_be_over
from hangtop.diagnosis.members.ray_ownership import clusters_of_run, is_on_ray
from hangtop.diagnosis.rules.gpu_rules import driver_doubted
from hangtop.diagnosis.rules.ray_rules import needed_parts_sick
from hangtop.diagnosis.rules.wait_rules import GROWN_S
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.monitor.debug_requests import debug_to_come
from hangtop.monitor.request_pace import AGAIN_S, AT_PART, SECOND_LOOK_S
from hangtop.records.ask import StacksAsk, WaitsAsk
from hangtop.records.nodes import is_node, node_of
from hangtop.stacks.frames import own
from hangtop.stacks.loops import SPAN_S, recently, trades

WATCH_COMES_S = 15.0
"""A watch tells first after 3 s, on a crowded machine later."""
MOST_PIDS = 64
SOURCES_S = 2.0
"""After so long the source of a stack is not read any more: its file is gone, or does not answer."""
SAMPLE_S = 5.0
"""Two samples of a loader in this time are work (`loops.WAKES_S`)."""


def looks_in_this_silence(snapshot: Snapshot) -> int:
    """Finished looks since the last output: older ones tell of another moment."""
    since = snapshot.now - (snapshot.silence_s or 0.0)
    return sum(1 for look in snapshot.state.looks if look.done and look.started_at >= since)


def satisfied(snapshot: Snapshot) -> bool:
    """Nothing more to wait for before a verdict: the run is not quiet, or two looks were taken, or none can be."""
    stacks = snapshot.state.health.get("stacks")
    impossible = stacks is None or stacks.problem is not None or any(look.problem for look in snapshot.state.looks)
    if may_work_on(snapshot):
        return False
    if (snapshot.is_quiet and _workers_to_come(snapshot)) or _leads_to_weigh(snapshot) or may_be_over(snapshot):
        return False
    if not snapshot.is_quiet and snapshot.log.beats_untimed:
        return False  # their pace will tell since when
    if snapshot.is_quiet and debug_to_come(snapshot):
        return False
    if not snapshot.is_quiet or not snapshot.pids:
        return True
    if driver_doubted(snapshot) or _may_grow(snapshot):
        return False
    if (_waits_to_come(snapshot) and not _explained_by_ray(snapshot)) or _may_write(snapshot):
        return False
    if impossible:
        return True
    looked = looks_in_this_silence(snapshot) >= 2 and not _answers_unseen(snapshot) and not _sources_to_come(snapshot)
    return looked and not _unproven(snapshot) and not _seen_once(snapshot)


def _answers_unseen(snapshot: Snapshot) -> bool:
    """Whether somebody is asked for an answer whose own stack was not looked at since."""
    seen = {stack.pid for look in snapshot.state.looks for stack in look.stacks}
    return not seen.issuperset(snapshot.answering)


def _sources_to_come(snapshot: Snapshot) -> bool:
    """Whether the lines around the places of a look may still be read, which come together after its stacks: without them a loop
    that ends by itself looks like one that waits in vain."""
    looks = (look for look in snapshot.state.looks if look.done and not look.excerpts)
    late = [look for look in looks if snapshot.now - look.started_at - (look.took_s or 0.0) < SOURCES_S]
    threads = (thread for look in late for stack in look.stacks for thread in stack.threads)
    return any(not thread.frames[at].file.startswith("<") for thread in threads for at in own(thread.frames)[:1])


def _seen_once(snapshot: Snapshot) -> bool:
    """Whether a worker of Ray on which the verdict hangs, or a rank of another node, came after the first look: one look cannot
    tell that it stands."""
    seen = Counter(stack.pid for look in snapshot.state.looks for stack in look.stacks)
    living = [member.pid for member in snapshot.members if member.status != "gone"]
    come_late = living if snapshot.aside else filter(node_of, living)
    return any(seen[pid] < 2 for pid in come_late)


def _may_write(snapshot: Snapshot) -> bool:
    """Lines come that tell nothing, and who prints them was not watched for long enough. One at work needs no watch."""
    if not snapshot.lines_come or any(member.alive and not member.doubted for member in snapshot.members):
        return False
    living = (member for member in snapshot.members if member.status != "gone")
    return any(recently(member.process).seconds < snapshot.watch_s for member in living)


def watch_comes(snapshot: Snapshot) -> bool:
    """Whether the first watch of what the members wait for, in this silence, is under way: until it tells something, a sleep and
    a transfer look like any wait."""
    health, since = snapshot.state.health.get("waits"), snapshot.now - (snapshot.silence_s or 0.0)
    if health is None or health.problem is not None or health.absent is not None or _watched_all(snapshot):
        return False
    if not _here(snapshot) and not _elsewhere(snapshot):
        return False
    looks = [look.started_at for look in snapshot.state.looks if look.started_at >= since]
    return bool(looks) and snapshot.now - min(looks) <= WATCH_COMES_S


def _waits_to_come(snapshot: Snapshot) -> bool:
    """What the members wait for was not watched in this silence, or that goes on because something may live."""
    health, waits = snapshot.state.health.get("waits"), snapshot.state.waits
    if health is None or health.problem is not None or health.absent is not None:
        return False
    if not _here(snapshot) and not _elsewhere(snapshot):
        return False
    return waits is None or not waits.done or not _watched_all(snapshot)


def _explained_by_ray(snapshot: Snapshot) -> bool:
    """Whether a part of Ray is dead or stopped, which the kernel tells at once, and the first windows of the watch have told who
    moves all the same. The rest of it would watch the bytes that the run sends to that part, and that it does not take: 24 s."""
    waits, since = snapshot.state.waits, snapshot.now - (snapshot.silence_s or 0.0)
    watched = waits is not None and waits.started_at >= since and waits.seconds >= SPAN_S
    return watched and bool(needed_parts_sick(snapshot))


def _watched_all(snapshot: Snapshot) -> bool:
    """Whether the last watch was of this silence, and of all members that are known by now."""
    waits = snapshot.state.waits
    known = (*_here(snapshot), *_elsewhere(snapshot))
    members = {member.pid for member in snapshot.members if member.status != "gone"}.intersection(known)
    in_this_silence = waits is not None and waits.started_at >= snapshot.now - (snapshot.silence_s or 0.0)
    return waits is not None and in_this_silence and members <= set(waits.asked)


def _here(snapshot: Snapshot) -> tuple[int, ...]:
    """The processes of this machine, the only ones that can all be watched."""
    return tuple(pid for pid in snapshot.pids if not node_of(pid))[:MOST_PIDS]


def _elsewhere(snapshot: Snapshot) -> tuple[int, ...]:
    """Those of other nodes, whose locks can be told."""
    return tuple(pid for pid in _few_a_node(snapshot.pids) if node_of(pid))


def _leads_to_weigh(snapshot: Snapshot) -> bool:
    """Processes may be the run, and whether the log tells of them was asked before it had been read to its end."""
    return bool(snapshot.procs.leads) and not snapshot.procs.weighed and snapshot.log.caught_up


def _nodes_to_come(snapshot: Snapshot) -> bool:
    """Whether a node that was named has neither told of its processes nor why it cannot."""
    return any(is_node(name) and not health.told for name, health in snapshot.state.health.items())


def _workers_to_come(snapshot: Snapshot) -> bool:
    """A run on Ray lives in its workers. The Ray source tells its session, and then the process source tells its workers."""
    health = snapshot.state.health.get("ray")
    if not is_on_ray(snapshot.state) or health is None:
        return False
    clusters = clusters_of_run(snapshot.state)
    if any(cluster.api.answer == "ok" and not cluster.nodes for cluster in clusters):
        return True  # a dashboard that has just started knows nothing yet
    actors = (actor for cluster in clusters for actor in cluster.actors)
    here = {actor.pid for actor in actors if actor.pid is not None and actor.has_process}
    seen = {process.pid for process in snapshot.procs.processes}
    return not health.told or not here <= seen


def _unproven(snapshot: Snapshot) -> bool:
    """Whether a member waits for the network, or data workers of one sleep, and these were not watched for long enough to tell
    whether answers or samples still come."""
    waits = (member.process for member in snapshot.members if member.status == "waits" and trades(member.activity))
    feeds = {member.pid for member in snapshot.members if member.status == "dataloader"}
    workers = (each for each in snapshot.procs.processes if each.role == "data worker" and each.ppid in feeds and not each.exited)
    short = any(recently(process).seconds < SPAN_S for process in waits)
    return short or any(recently(worker).seconds < SAMPLE_S for worker in workers)


def _may_grow(snapshot: Snapshot) -> bool:
    """A file of a checkpoint was written lately, and one look at it cannot tell whether that goes on."""
    saved = snapshot.state.checkpoints
    if saved is None or saved.growth_b_s is not None or saved.modified_at is None:
        return False
    return snapshot.now - saved.modified_at <= GROWN_S


def stack_request(snapshot: Snapshot) -> StacksAsk | None:
    """The stacks to ask for now, or none. A dump never stops the run, and costs some 40 ms of one core a process."""
    if snapshot.silence_s is None or snapshot.silence_s < AT_PART * snapshot.quiet_s or not snapshot.pids:
        return None
    looks = snapshot.state.looks
    if looks and looks[-1].started_at > 0:
        is_early = looks_in_this_silence(snapshot) < 2 or _seen_once(snapshot) or _answers_unseen(snapshot)
        pause_s = SECOND_LOOK_S if is_early else AGAIN_S
        if snapshot.now - looks[-1].started_at < pause_s:
            return None
    return StacksAsk(ask=int(snapshot.now * 1000), pids=(*_few_a_node(snapshot.pids), *snapshot.answering))


def _few_a_node(pids: tuple[int, ...]) -> tuple[int, ...]:
    """At most `MOST_PIDS` of each node: each node takes its own stacks."""
    by_node = grouped(pids, node_of)
    return tuple(pid for there in by_node.values() for pid in there[:MOST_PIDS])


def waits_request(snapshot: Snapshot) -> WaitsAsk | None:
    """The waits to be watched now, or none: about as often as the stacks. They cost some ms a process."""
    here, elsewhere = _here(snapshot), _elsewhere(snapshot)
    if snapshot.silence_s is None or snapshot.silence_s < AT_PART * snapshot.quiet_s or not (here or elsewhere):
        return None
    last = snapshot.state.waits
    if last is None and looks_in_this_silence(snapshot) < 2 and (_workers_to_come(snapshot) or _nodes_to_come(snapshot)):
        return None  # one watch of all is sooner over than a second one, of those that came late
    if last is not None and _watched_all(snapshot) and snapshot.now - last.started_at - last.seconds < AGAIN_S:
        return None
    return WaitsAsk(ask=int(snapshot.now * 1000), pids=here, elsewhere=elsewhere)
