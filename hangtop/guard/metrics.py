"""Figures for Prometheus, by `prometheus-client` (`pip install 'hangtop[metrics]'`): names and units by its conventions.

They are made when somebody asks, from the last look: a look costs nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import STATES, Verdict

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

NOT_INSTALLED = "prometheus-client is not installed: pip install 'hangtop[metrics]'"
GPU_FIGURES = {
    "utilization_ratio": ("util_percent", 0.01, "Share of time in which a kernel ran."),
    "memory_used_bytes": ("used_bytes", 1.0, "Memory in use."),
    "memory_total_bytes": ("total_bytes", 1.0, "Memory there is."),
    "power_watts": ("power_w", 1.0, "Power drawn."),
    "temperature_celsius": ("temperature_c", 1.0, "Temperature."),
}
"""By the end of the metric's name: the field of a GPU, its factor, the help."""
PROCESS_FIGURES = {
    "cpu_ratio": ("subtree_cpu_percent", 0.01, "Cores used, with what the process started."),
    "resident_memory_bytes": ("rss_bytes", 1.0, "Resident memory."),
}


class MetricsError(Exception):
    """They cannot be offered; the message is one line with the command that mends it."""


class RunCollector:
    """What Prometheus asks: the last look as gauges."""

    def __init__(self) -> None:
        self._seen: tuple[Snapshot, Verdict] | None = None

    def look(self, snapshot: Snapshot, verdict: Verdict) -> None:
        self._seen = snapshot, verdict

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if self._seen is not None:
            yield from _of_run(*self._seen)
            yield from _of_gpus(self._seen[0])
            yield from _of_ranks(self._seen[0])


def serve(address: str) -> RunCollector:
    """Offer the figures at `HOST:PORT` (of this machine alone where HOST is empty). Raises `MetricsError`."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise MetricsError(f"--metrics {address}: HOST:PORT is wanted, such as 127.0.0.1:9645")
    try:
        from prometheus_client import start_http_server
        from prometheus_client.core import CollectorRegistry
    except ImportError as error:
        raise MetricsError(NOT_INSTALLED) from error
    registry, collector = CollectorRegistry(), RunCollector()
    registry.register(collector)
    try:
        start_http_server(int(port), addr=host or "127.0.0.1", registry=registry)
    except (OSError, OverflowError) as error:
        raise MetricsError(f"--metrics {address}: {getattr(error, 'strerror', None) or error}") from error
    return collector


def _gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"hangtop_{name}", text, labels=labels)


def _of_run(snapshot: Snapshot, verdict: Verdict) -> Iterator[GaugeMetricFamily]:
    words = _gauge("verdict", "1 for the word that is said of the run now.", ("verdict",))
    for word in STATES:
        words.add_metric((word,), float(word == verdict.word))
    yield words
    stage = _gauge("stage", "1 for the stage that the run is in.", ("stage",))
    if verdict.stage is not None:
        stage.add_metric((verdict.stage.id,), 1.0)
    yield stage
    progress = snapshot.log.progress
    figures = {
        "looked_timestamp_seconds": ("When hangtop last looked.", snapshot.now),
        "silence_seconds": ("Since the log last told anything new.", verdict.silence_s),
        "silence_limit_seconds": ("How long this stage may be silent.", verdict.limit_s),
        "step": ("The last step.", progress.step),
        "steps_planned": ("Of how many.", progress.total),
        "step_seconds": ("Seconds a step.", progress.step_s),
        "eta_seconds": ("Seconds to the end.", progress.eta_s),
        "ranks": ("Ranks that are known.", len(snapshot.ranks)),
        "culprits": ("Members that stand out.", len(verdict.culprits)),
        "findings": ("Known messages in the log of this attempt.", len(snapshot.findings)),
        "attempt": ("How often the run was started in this log.", snapshot.log.attempt),
    }
    for name, (text, value) in figures.items():
        if value is not None:
            found = _gauge(name, text)
            found.add_metric((), float(value))
            yield found
    values = _gauge("metric", "Last values of the training, by name.", ("name",))
    for name, told in progress.metrics.items():
        values.add_metric((name,), float("nan") if told is None else told)
    yield values


def _of_gpus(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    for ending, (field, factor, text) in GPU_FIGURES.items():
        found = _gauge(f"gpu_{ending}", text, ("host", "gpu"))
        for host, node in snapshot.state.gpus.items():
            for gpu in node.reading.gpus:
                if (value := getattr(gpu, field)) is not None:
                    found.add_metric((host, str(gpu.index)), factor * value)
        yield found


def _of_ranks(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    steps = _gauge("rank_step", "The last step of each rank.", ("rank",))
    quiet = _gauge("rank_silence_seconds", "Since each rank last wrote.", ("rank",))
    for rank in snapshot.ranks:
        if rank.step is not None:
            steps.add_metric((str(rank.rank),), float(rank.step))
        if rank.last_at is not None:
            quiet.add_metric((str(rank.rank),), max(0.0, snapshot.now - rank.last_at))
    yield from (steps, quiet)
    for ending, (field, factor, text) in PROCESS_FIGURES.items():
        found = _gauge(f"rank_{ending}", text, ("rank", "pid"))
        for rank in snapshot.ranks:
            if rank.process is not None and (value := getattr(rank.process, field)) is not None:
                found.add_metric((str(rank.rank), str(rank.pid)), factor * value)
        yield found
