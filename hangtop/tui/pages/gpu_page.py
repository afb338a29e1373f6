"""The page of one GPU: faults, readings, processes, and its last minutes."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.common import text
from hangtop.diagnosis.facts.gpu_outliers import BAD, GpuFact, facts, is_current, status_words
from hangtop.diagnosis.members.rank_gpus import of_run, ranks_on
from hangtop.records.gpu import Gpu, GpuProcess, GpuTrack
from hangtop.render.charts import Chart, chart_rows
from hangtop.render.gpu_head import short_name
from hangtop.render.gpu_rows import mig_rows
from hangtop.render.processes.process_rows import named
from hangtop.render.processes.process_tree import TreeLine
from hangtop.render.spans import BLANK, Row, align, cut, dotted
from hangtop.render.view import View
from hangtop.render.wrap import fact_row, section
from hangtop.translations import say
from hangtop.tui.keys import PAGE_KEYS, Key
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.pages.process_page import all_members

PID_CELLS = 10
NEXT, ITS_RANK = Key(shown="↑↓", word="next GPU", of=("up", "down")), Key(shown="Enter", word="its rank", of=("detail",))


class GpuScreen(PageScreen):
    """Arrows go to the next GPU of the node. A lost GPU keeps its index, and stays on its page."""

    def __init__(self, host: str, index: int) -> None:
        super().__init__()
        self.host, self.index = host, index

    def show(self, view: View) -> None:
        self.keys = (NEXT, *((ITS_RANK,) if self._ranks(view) else ()), *PAGE_KEYS)
        super().show(view)

    def head(self, view: View) -> Row:
        gpu = self._gpu(view)
        parts = (self.host, short_name(gpu.name) if gpu is not None else "")
        known: list[Row] = [((f"GPU {self.index}", "ink"),), *(((word, "muted"),) for word in parts if word)]
        return dotted(known)

    def rows(self, view: View, width: int) -> list[Row]:
        gpu = self._gpu(view)
        if gpu is None:
            return [((say(f"Nothing is known of GPU {self.index} any more."), "muted"),)]
        node = view.state.gpus[self.host]
        faults = [fact for fact in facts(node, view.now, of_run(view.state, self.host)) if fact.index == self.index]
        return [
            *_fault_rows(gpu, faults, view.now, width),
            BLANK,
            *(fact_row(label, value, width) for label, value in gpu_facts(gpu, view.now)),
            *mig_rows(gpu, width),
            BLANK,
            *_process_rows(gpu, self.host, view, width),
            *_past_rows(gpu, node.tracks.get(self.index, GpuTrack()), view.now, width),
            *(row for note in node.reading.notes for row in (BLANK, cut(((note, "muted"),), width))),
        ]

    def move(self, by: int) -> None:
        node = self.hangtop.view.state.gpus.get(self.host)
        known = [gpu.index for gpu in node.reading.gpus] if node is not None else []
        if self.index in known:
            self.index = known[max(0, min(known.index(self.index) + by, len(known) - 1))]
            self.hangtop.choose_gpu(self.index)

    def open(self) -> None:
        if ranks := self._ranks(self.hangtop.view):
            self.hangtop.show_rank(ranks[0])

    def _ranks(self, view: View) -> tuple[int, ...]:
        return ranks_on(view.ranks, view.state, self.host).get(self.index, ())

    def _gpu(self, view: View) -> Gpu | None:
        node = view.state.gpus.get(self.host)
        return next((gpu for gpu in node.reading.gpus if gpu.index == self.index), None) if node is not None else None


def _fault_rows(gpu: Gpu, faults: Iterable[GpuFact], now: float, width: int) -> list[Row]:
    """Its faults in words, gravest first."""
    found: list[Row] = [
        (("▌ ", fact.role), (fact.text, f"{fact.role} bold" if fact.kind in BAD else fact.role)) for fact in faults
    ]
    well: Row = ((f"GPU {gpu.index}  ", "ink bold"), (status_words(gpu, now), "muted"))
    return [cut(row, width) for row in found or [well]]


def gpu_facts(gpu: Gpu, now: float) -> Iterable[tuple[str, str]]:
    """(label, value) of all that is known."""
    yield "status", status_words(gpu, now) + (say("" if gpu.since is None else f", since {text.moment(gpu.since, now)}"))
    if not is_current(gpu, now) and gpu.read_at is not None:
        yield say("values"), say(f"of {text.age(now - gpu.read_at)} ago")
    if gpu.util_percent is not None:
        memory = say("" if gpu.memory_util_percent is None else f", its memory {gpu.memory_util_percent:.0f} %")
        yield say("busy"), f"{gpu.util_percent:.0f} %{memory}"
    if gpu.power_w is not None:
        yield "power", f"{gpu.power_w:.0f} W" + (say("" if gpu.limit_w is None else f" of {gpu.limit_w:.0f} W"))
    if gpu.used_bytes is not None:
        yield "memory", text.size(gpu.used_bytes) + (say("" if gpu.total_bytes is None else f" of {text.size(gpu.total_bytes)}"))
    if gpu.temperature_c is not None:
        yield say("temperature"), f"{gpu.temperature_c:.0f} °C"
    if gpu.sm_clock_mhz is not None:
        most = say("" if gpu.sm_clock_max_mhz is None else f" of {gpu.sm_clock_max_mhz:,}")
        memory = say("" if gpu.memory_clock_mhz is None else f", memory {gpu.memory_clock_mhz:,} MHz")
        yield "clock", f"{gpu.sm_clock_mhz:,}{most} MHz{memory}" + ("" if gpu.pstate is None else f", P{gpu.pstate}")
    if gpu.throttle:
        yield say("held back"), ", ".join(gpu.throttle)
    for label, received, sent in (
        ("PCIe", gpu.pcie_rx_bytes_s, gpu.pcie_tx_bytes_s),
        ("NVLink", gpu.nvlink_rx_bytes_s, gpu.nvlink_tx_bytes_s),
    ):
        if received is not None and sent is not None:
            yield label, say(f"{text.rate(received)} in, {text.rate(sent)} out")
    if gpu.ecc_uncorrected is not None:
        yield (
            say("ECC errors"),
            say(f"{gpu.ecc_uncorrected:,} uncorrected")
            + (say("" if gpu.ecc_corrected is None else f", {gpu.ecc_corrected:,} corrected")),
        )
    if gpu.remap:
        yield say("remapped"), gpu.remap
    if gpu.xid is not None:
        yield say("last Xid"), str(gpu.xid) + (say("" if gpu.xid_at is None else f" at {text.moment(gpu.xid_at, now)}"))
    if gpu.denied:
        yield say("not readable"), ", ".join(gpu.denied)
    if gpu.uuid:
        yield "UUID", gpu.uuid


def _process_rows(gpu: Gpu, host: str, view: View, width: int) -> list[Row]:
    """The processes in the driver's list; processes of the run by name."""
    rows = [section("Processes", width, say(f"{len(gpu.processes)} on this GPU" if gpu.processes else "none on this GPU"))]
    names = {member.process.pid: named(TreeLine((member,))) for member in all_members(view) if member.host == host}

    def row(process: GpuProcess) -> Row:
        name = names.get(process.pid, say("not of this run" if process.visible else "not visible from here"))
        held = text.size(process.used_bytes)
        return (align(str(process.pid), PID_CELLS, "ink", right=True), (f"  {held:>8}  ", "ink"), (name, "muted"))

    return [*rows, *(cut(row(process), width) for process in gpu.processes)]


def _past_rows(gpu: Gpu, track: GpuTrack, now: float, width: int) -> list[Row]:
    """Utilisation and power of the last minutes; memory over the whole watch."""
    busy = (
        Chart("util", track.util_percent, 100.0, lambda value: f"{value:.0f} %"),
        Chart("power", track.power_w, gpu.limit_w or 0.0, lambda value: f"{value:.0f} W"),
    )
    memory = (Chart("memory", track.used_bytes, gpu.total_bytes or 0.0, lambda value: text.size(int(value))),)
    return [row for part in (chart_rows(busy, now, width), chart_rows(memory, now, width)) if part for row in (BLANK, *part)]
