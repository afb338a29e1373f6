"""The state of a run as one frozen record, and `fold`, which makes the next state of it and a reading. No clock, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.ask import AskEnd
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuReading, NodeGpus
from hangtop.records.health import Heartbeat, ProbeState, Rewind, SourceHealth
from hangtop.records.host import HostReading
from hangtop.records.host_signals import HostSignals
from hangtop.records.inspection import Inspection
from hangtop.records.launch import LaunchReading
from hangtop.records.log import LogLine, LogReading, RankLog
from hangtop.records.nccl import NcclReading
from hangtop.records.nccl import add_look as add_nccl_look
from hangtop.records.nodes import is_node
from hangtop.records.plan import LeftoversReading
from hangtop.records.process import ProcessReading
from hangtop.records.ray.cluster import RayReading
from hangtop.records.ray.remote_workers import ActorLogReading, RemoteStacksReading, add_remote
from hangtop.records.ray.session import RaySession
from hangtop.records.reading import Reading
from hangtop.records.stack import StacksReading
from hangtop.records.torch_debug import TorchDebugReading
from hangtop.records.watched_waits import WaitsReading
from hangtop.stacks.native_calls import take_in
from hangtop.stacks.step_parts import SeenIn, counted
from hangtop.state.gpu_history import fold_gpus
from hangtop.state.process_history import ProcessTracks, fold_tracks

TAIL_LINES = 5_000
MOST_ASK_ENDS = 64


class RunState(Struct, frozen=True):
    """The run as its sources show it. `log`: the latest log reading; its new ranks and lines are added to `ranks` and `tail`.

    `processes`, `gpus`, `ray`: by host; `here`: the host on which the log is read, `nodes`: others that were named; `procs`: its
    latest process reading, with the processes of the nodes (`hangtop.records.nodes`); `tracks`: history of each rank.
    `ask_ends`: the last questions that have ended.
    `looks`: the last samples of the stacks, latest last; `seen_in`: in which part of a step these and many earlier ones saw each
    process; `waits`: the last watch of what the members wait for; `nccl`: the last two samples of the collectives.
    `heard_at`: when the probe last gave a sign of life, by the clock of the readings.
    """

    log: LogReading | None = None
    ranks: Mapping[int, RankLog] = MappingProxyType({})
    tail: tuple[LogLine, ...] = ()
    tail_total: int = 0
    here: str = ""
    nodes: frozenset[str] = frozenset()
    procs: ProcessReading | None = None
    processes: Mapping[str, ProcessReading] = MappingProxyType({})
    tracks: ProcessTracks = MappingProxyType({})
    machine: HostReading | None = None
    signals: HostSignals | None = None
    checkpoints: CheckpointReading | None = None
    gpus: Mapping[str, NodeGpus] = MappingProxyType({})
    looks: tuple[StacksReading, ...] = ()
    seen_in: tuple[SeenIn, ...] = ()
    waits: WaitsReading | None = None
    nccl: tuple[NcclReading, ...] = ()
    ray: Mapping[str, RayReading] = MappingProxyType({})
    ray_session: RaySession | None = None
    inspection: Inspection | None = None
    actor_log: ActorLogReading | None = None
    far_stacks: RemoteStacksReading | None = None
    torch_debug: TorchDebugReading | None = None
    leftovers: LeftoversReading | None = None
    launch: LaunchReading | None = None
    ask_ends: tuple[AskEnd, ...] = ()
    health: Mapping[str, SourceHealth] = MappingProxyType({})
    probe: ProbeState | None = None
    heard_at: float | None = None

    @property
    def node_names(self) -> dict[int, str]:
        """The names of the other nodes that tell of themselves now, by their numbers."""
        known = {host: self.processes[host].node for host in self.nodes if host in self.processes}
        return {node.node: host for host, node in known.items() if node is not None}


def fold(state: RunState, reading: Reading) -> RunState:
    """The state after this reading. The wire refuses readings of unknown kinds."""
    match reading.value:
        case LogReading() as log:
            state = _fold_log(state, log)
        case ProcessReading() as procs:
            log_pids = {rank.pid for rank in state.ranks.values() if rank.pid is not None}
            tracks = fold_tracks(state.tracks, procs, reading.host, reading.at, log_pids)
            processes = MappingProxyType({**state.processes, reading.host: procs})
            away = is_node(reading.source)
            here, nodes = (state.here, state.nodes | {reading.host}) if away else (reading.host, state.nodes - {reading.host})
            joined = _of_all_nodes(processes, here, nodes)
            state = replace(state, here=here, nodes=nodes, procs=joined, processes=processes, tracks=tracks)
        case HostReading() as machine:
            state = replace(state, machine=machine)
        case HostSignals() as signals:
            state = replace(state, signals=signals)
        case CheckpointReading() as checkpoints:
            state = replace(state, checkpoints=checkpoints)
        case GpuReading() as gpus:
            node = fold_gpus(state.gpus.get(reading.host), gpus, reading.at)
            state = replace(state, gpus=MappingProxyType({**state.gpus, reading.host: node}))
        case StacksReading() as stacks:
            looks = take_in(state.looks, stacks)
            state = replace(state, looks=looks, seen_in=counted(state.seen_in, state.looks, looks))
        case WaitsReading() as waits:
            state = replace(state, waits=waits)
        case RayReading() as ray:
            state = replace(state, ray=MappingProxyType({**state.ray, reading.host: ray}))
        case RaySession() as session:
            state = replace(state, ray_session=session)
        case Inspection() as inspection:
            state = replace(state, inspection=inspection)
        case ActorLogReading() as actor_log:
            state = replace(state, actor_log=actor_log)
        case RemoteStacksReading() as far:
            state = replace(state, far_stacks=add_remote(state.far_stacks, far))
        case NcclReading() as nccl:
            state = replace(state, nccl=add_nccl_look(state.nccl, nccl))
        case TorchDebugReading() as servers:
            state = replace(state, torch_debug=servers)
        case LeftoversReading() as leftovers:
            state = replace(state, leftovers=leftovers)
        case AskEnd() as end:
            ends = [known for known in state.ask_ends if known.ask != end.ask or known.kind != end.kind]
            state = replace(state, ask_ends=(*ends, end)[-MOST_ASK_ENDS:])
        case LaunchReading() as launch:
            state = replace(state, launch=launch)
        case Heartbeat() as beat:
            known = {**state.health, **{health.name: health for health in beat.sources}}
            state = replace(state, health=MappingProxyType(known))
        case ProbeState() as probe:
            return replace(state, probe=probe)
        case Rewind():
            return RunState()
    return replace(state, heard_at=reading.at)


def _of_all_nodes(processes: Mapping[str, ProcessReading], here: str, nodes: frozenset[str]) -> ProcessReading | None:
    """What was read here, with the processes of the run on other nodes; `None` before the first look here."""
    mine = processes.get(here)
    others = [processes[host] for host in sorted(nodes)]
    if mine is None or not others:
        return mine
    return replace(
        mine,
        processes=(*mine.processes, *(process for reading in others for process in reading.processes)),
        ended=(*mine.ended, *(process for reading in others for process in reading.ended)),
    )


def _fold_log(state: RunState, log: LogReading) -> RunState:
    ranks = {} if log.fresh else dict(state.ranks)
    ranks.update((rank.rank, rank) for rank in log.ranks)
    tail = log.tail if log.fresh else (*state.tail, *log.tail)
    return replace(
        state,
        log=replace(log, ranks=(), tail=()),
        ranks=MappingProxyType(ranks),
        tail=tail[-TAIL_LINES:],
        tail_total=(0 if log.fresh else state.tail_total) + len(log.tail),
    )
