"""What the GPUs of a node say of the run: which stand out, which busy-wait, which do not answer. Pure.

A GPU is judged against the others, never by a number of its own: utilisation is 100 % in a hung collective too, for its
kernels spin (NCCL#968, nccl#1550: H100 at 152 W of 700 W). Only power beside it tells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.median import median, median_of_others
from hangtop.common.memo import memoized
from hangtop.common.text import some
from hangtop.records.gpu import Gpu, GpuStatus, GpuTrack, NodeGpus
from hangtop.records.health import LATE_S, NO_ANSWER_S
from hangtop.records.samples import Samples, growth, until

FactKind = Literal[
    "lost", "reset needed", "no answer", "unknown error", "empty", "idle", "memory errors", "remap", "xid",
    "not supported", "no permission", "late", "little memory", "hot", "grows", "busy-wait",
]  # fmt: skip
"""What may be said of a GPU, gravest first."""

_GRAVEST_FIRST: tuple[FactKind, ...] = get_args(FactKind)
WINDOW_S = 30.0
"""Utilisation and power are judged by their means over so long: a healthy step waits busily for a moment, too."""
BUSY_UTIL_PERCENT = 90.0
BUSY_POWER_PART = 0.35
BUSY_MEMORY_PERCENT = 5.0
"""Kernels that spin leave the memory alone (0 % in nccl#2079); generating tokens at little power does not."""
IDLE_UTIL_PERCENT = 5.0
PEERS_PART = 0.7
"""So many of the others must be busy before an idle one is odd."""
LASTS_S = 120.0
"""What has been loaded nowhere for as long as the default stall limit is not about to be loaded."""
LONG_S = 300.0
KNOWN_PART = 0.8
"""So much of these minutes must be known: a step of reinforcement learning has minutes in which a GPU waits."""
COMPUTES_PERCENT = 50.0
ROUNDED_PERCENT = 5
EMPTY_BYTES = 1 << 30
LITTLE_MEMORY_PART = 0.5
LITTLE_MEMORY_BYTES = 4 << 30
HOT_C = 80.0
HOT_OVER_PEERS_C = 15.0
GROWTH_BYTES = 256 << 20
G = 2**30
NO_TRACK = GpuTrack()

BAD: frozenset[FactKind] = frozenset({"lost", "reset needed", "no answer", "unknown error", "empty", "idle"})
ODD: frozenset[FactKind] = BAD | {"little memory", "hot", "memory errors", "remap"}
"""What makes a GPU stand out from its peers; the rest may be true of all of them."""
HOLDING_BACK = frozenset({"hot (driver)", "hot (hardware)", "hardware slowdown", "power brake"})


class GpuFact(Struct, frozen=True):
    """One thing worth saying of one GPU, in words without an age. `short`: where there is little room."""

    index: int
    kind: FactKind
    text: str
    short: str = ""

    @property
    def role(self) -> str:
        return "bad" if self.kind in BAD else "warn"


def status_now(gpu: Gpu, now: float) -> GpuStatus:
    """The status with the age of the values: also when the probe itself fell silent, so that nothing marks them."""
    if gpu.status not in ("ok", "late") or gpu.read_at is None:
        return gpu.status
    age_s = now - gpu.read_at
    if gpu.status == "ok" and age_s > NO_ANSWER_S:
        return "no answer"
    return "late" if age_s > LATE_S else gpu.status


def is_current(gpu: Gpu, now: float) -> bool:
    """Whether its values are of now, so that they may be judged."""
    return status_now(gpu, now) == "ok"


def status_words(gpu: Gpu, now: float) -> str:
    """`lost: fell off the bus (Xid 79)`; `ok` for one that is well."""
    status = status_now(gpu, now)
    xid = f" (Xid {gpu.xid})" if gpu.xid is not None and status == "lost" else ""
    return f"{status}: {gpu.why}{xid}" if gpu.why and status != "ok" else f"{status}{xid}"


def power_part(gpu: Gpu) -> float | None:
    """Power as a part of the limit, 0…1."""
    return gpu.power_w / gpu.limit_w if gpu.power_w is not None and gpu.limit_w else None


@memoized
def all_lately(node: NodeGpus, now: float) -> tuple[Gpu, ...]:
    """The GPUs of a node as they were lately, in its order: utilisation and power are means over the last `WINDOW_S`."""
    return tuple(_lately(gpu, node.tracks.get(gpu.index, NO_TRACK), now - WINDOW_S) for gpu in node.reading.gpus)


def _lately(gpu: Gpu, track: GpuTrack, since: float) -> Gpu:
    util = None if gpu.util_percent is None else _mean_since(track.util_percent, since)
    power_w = None if gpu.power_w is None else _mean_since(track.power_w, since)
    return replace(
        gpu,
        util_percent=gpu.util_percent if util is None else util,
        power_w=gpu.power_w if power_w is None else power_w,
    )


def _mean_since(samples: Samples, since: float) -> float | None:
    """The mean over the slots that end after `since`."""
    recent = _slots(samples, since)
    return sum(recent) / len(recent) if recent else None


def busy_waits(gpu: Gpu) -> bool:
    """At least 90 % utilisation below 35 % of the power limit, memory idle: kernels that spin and compute nothing."""
    power = power_part(gpu)
    if power is None or gpu.util_percent is None or (gpu.memory_util_percent or 0.0) > BUSY_MEMORY_PERCENT:
        return False
    return gpu.util_percent >= BUSY_UTIL_PERCENT and power < BUSY_POWER_PART


def judged_of(node: NodeGpus, now: float, of_run: Collection[int] | None) -> list[Gpu]:
    """The GPUs of the run as they were lately: those whose values are current and on which anybody computed in this watch. A
    spare GPU is not an idle one."""
    mine = (gpu for gpu in all_lately(node, now) if of_run is None or gpu.index in of_run)
    return [gpu for gpu in mine if is_current(gpu, now) and _is_used(gpu, node.tracks.get(gpu.index, NO_TRACK))]


def _is_used(gpu: Gpu, track: GpuTrack) -> bool:
    held = (gpu.used_bytes, *track.used_bytes.means)
    return bool(gpu.processes) or any(used is not None and used > EMPTY_BYTES for used in held)


def facts(node: NodeGpus, now: float, of_run: Collection[int] | None = None) -> tuple[GpuFact, ...]:
    """Everything worth saying of the GPUs of a node, gravest first, then by index.

    `of_run`: indices of the GPUs that the run uses, which alone are compared; `None`: not known, so all that are used.
    """
    judged = judged_of(node, now, of_run)
    found = [fact for gpu in all_lately(node, now) for fact in _of_itself(gpu, node.tracks.get(gpu.index, NO_TRACK), now)]
    if len(judged) > 1:
        peers = Peers(judged)
        found += [GpuFact(gpu.index, kind, text) for gpu in judged for kind, text in _against(peers, gpu)]
    return tuple(sorted(found, key=lambda fact: (_GRAVEST_FIRST.index(fact.kind), fact.index)))


def lasting(node: NodeGpus, now: float, mine: Collection[int]) -> tuple[GpuFact, ...]:
    """What no phase of a healthy step explains: a GPU that is idle for minutes while most of the others compute, or whose process
    has loaded nothing in all that time while theirs are full. `mine`: the GPUs that are known for the run's, which alone are
    judged: a spare one, or one of other people, is not idle."""
    judged = judged_of(node, now, mine) if mine else []
    return (*_long_idle(judged, node, now), *_never_loaded(judged, node, now))


def _long_idle(judged: Sequence[Gpu], node: NodeGpus, now: float) -> Iterator[GpuFact]:
    means = {gpu.index: mean for gpu in judged if (mean := mean_over(node, gpu, now)) is not None}
    spinning = {gpu.index for gpu in judged if busy_waits(gpu)}
    at_work = [mean for index, mean in means.items() if mean >= COMPUTES_PERCENT and index not in spinning]
    if not at_work or len(at_work) < PEERS_PART * len(means):
        return
    others = f"{some(len(at_work), 'other')} at {rounded(median(at_work))} %"
    for index in (index for index, mean in means.items() if mean <= IDLE_UTIL_PERCENT):
        yield GpuFact(index, "idle", f"idle for {LONG_S / 60:.0f} minutes, the {others}: nothing of the run computes there")


def _never_loaded(judged: Sequence[Gpu], node: NodeGpus, now: float) -> Iterator[GpuFact]:
    since = now - LASTS_S
    watched = [gpu for gpu in judged if _watched(node.tracks.get(gpu.index, NO_TRACK), since)]
    at_work = (gpu for gpu in watched if (_mean_since(node.tracks[gpu.index].util_percent, since) or 0.0) >= COMPUTES_PERCENT)
    if len(watched) < 2 or all(busy_waits(gpu) for gpu in at_work):
        return
    peers = Peers(watched)
    for gpu in watched:
        used = _slots(node.tracks[gpu.index].used_bytes, since)
        if used and max(used) < EMPTY_BYTES:
            yield from (GpuFact(gpu.index, kind, text) for kind, text in _against(peers, gpu) if kind == "little memory")


def mean_over(node: NodeGpus, gpu: Gpu, now: float) -> float | None:
    """The mean utilisation over the last `LONG_S`, in percent; `None` while too little of it is known."""
    samples = node.tracks.get(gpu.index, NO_TRACK).util_percent
    slots = int(LONG_S / samples.slot_s)
    known = [mean for mean in until(samples, now, slots) if mean is not None]
    return sum(known) / len(known) if len(known) >= KNOWN_PART * slots else None


def rounded(percent: float) -> int:
    """In steps, so that a line stands still."""
    return ROUNDED_PERCENT * round(percent / ROUNDED_PERCENT)


def _watched(track: GpuTrack, since: float) -> bool:
    first = track.util_percent.first * track.util_percent.slot_s
    return bool(_slots(track.util_percent, since)) and first <= since


def _slots(samples: Samples, since: float) -> list[float]:
    """The means of the slots that end after `since`."""
    skipped = max(0, int(since // samples.slot_s) - samples.first)
    return [mean for mean in samples.means[skipped:] if mean is not None]


def _of_itself(gpu: Gpu, track: GpuTrack, now: float) -> Iterator[GpuFact]:
    match status_now(gpu, now):
        case "ok" | "reading":
            if busy_waits(gpu):
                said = f"at {gpu.util_percent:.0f} %, yet at {100 * (power_part(gpu) or 0):.0f} % of power"
                yield GpuFact(gpu.index, "busy-wait", said)
            if grown := growth(track.used_bytes, least=GROWTH_BYTES):
                yield GpuFact(gpu.index, "grows", f"memory grows by {grown / G:.1f} G an hour", f"+{grown / G:.1f} G/h")
        case kind:
            yield GpuFact(gpu.index, kind, status_words(gpu, now))
    if gpu.ecc_uncorrected:
        yield GpuFact(gpu.index, "memory errors", f"{gpu.ecc_uncorrected} uncorrected memory errors")
    if gpu.remap:
        yield GpuFact(gpu.index, "remap", gpu.remap)
    if gpu.xid is not None and gpu.status != "lost":
        yield GpuFact(gpu.index, "xid", f"Xid {gpu.xid}")


class Peers:
    """The GPUs that are compared with each other, at least two: what is usual among the others of each, by their median."""

    def __init__(self, gpus: Sequence[Gpu]) -> None:
        self._used = sorted(gpu.used_bytes or 0 for gpu in gpus)
        self._temperatures = sorted(gpu.temperature_c or 0.0 for gpu in gpus)
        self._busy = sum(_is_busy(gpu) for gpu in gpus)
        self._others = len(gpus) - 1

    def used_bytes(self, gpu: Gpu) -> float:
        return median_of_others(self._used, gpu.used_bytes or 0)

    def temperature_c(self, gpu: Gpu) -> float:
        return median_of_others(self._temperatures, gpu.temperature_c or 0.0)

    def busy_part(self, gpu: Gpu) -> float:
        return (self._busy - _is_busy(gpu)) / self._others


def _is_busy(gpu: Gpu) -> bool:
    return (gpu.util_percent or 0) >= BUSY_UTIL_PERCENT


def _against(peers: Peers, gpu: Gpu) -> Iterator[tuple[FactKind, str]]:
    """What makes it odd among its peers.

    Empty: it was used in this watch and its memory is free again, while the others hold theirs, so its process died. Idle: at 0 %
    while the others work or wait, the suspect of a hung collective (libgpuarray#387: all at 100 % but one).
    """
    used, usual = gpu.used_bytes, peers.used_bytes(gpu)
    if used is not None and used < EMPTY_BYTES < usual and not gpu.processes:
        yield "empty", "is empty"
    if gpu.util_percent is not None and gpu.util_percent <= IDLE_UTIL_PERCENT and peers.busy_part(gpu) >= PEERS_PART:
        yield "idle", f"at {gpu.util_percent:.0f} %"
    if used is not None and used < LITTLE_MEMORY_PART * usual and usual - used >= LITTLE_MEMORY_BYTES:
        if used >= EMPTY_BYTES:
            yield "little memory", f"{used / G:.1f} G, the others {usual / G:.1f} G"
        elif gpu.processes:
            pids = ", ".join(f"pid {process.pid}" for process in gpu.processes[:2])
            yield "little memory", f"{used / G:.1f} G, the others {usual / G:.1f} G: {pids} has loaded nothing there"
    warm, held = gpu.temperature_c, HOLDING_BACK.intersection(gpu.throttle)
    if warm is not None and (held or (warm >= HOT_C and warm - peers.temperature_c(gpu) >= HOT_OVER_PEERS_C)):
        yield "hot", f"{warm:.0f} °C" + (f", held back: {', '.join(sorted(held))}" if held else "")
