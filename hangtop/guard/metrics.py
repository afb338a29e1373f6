"""Figures for Prometheus, by `prometheus-client` (`pip install 'hangtop[metrics]'`): names and units by its conventions.

They are made when somebody asks, from the last look: a look costs nothing more. `services/grafana.json` shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hangtop import __version__
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.verdict import STATES, Verdict

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

NOT_INSTALLED = "prometheus-client is not installed: pip install 'hangtop[metrics]'"
GPU_FIGURES = {
    "utilization_ratio": ("util_percent", 0.01, "Share of time in which a kernel ran."),
    "memory_used_bytes": ("used_bytes", 1.0, "Memory in use."),
    "memory_size_bytes": ("total_bytes", 1.0, "Memory there is."),
    "power_watts": ("power_w", 1.0, "Power drawn."),
    "power_limit_watts": ("limit_w", 1.0, "Power that it may draw."),
    "temperature_celsius": ("temperature_c", 1.0, "Temperature."),
}
"""By the end of the metric's name: the field of a GPU, its factor, the help."""
RANK_FIGURES = {
    "step": ("step", 1.0, "Last step of each rank."),
    "behind_steps": ("lag", 1.0, "Steps that each rank is behind."),
}
PROCESS_FIGURES = {
    "cpu_cores": ("subtree_cpu_percent", 0.01, "Cores that each rank uses, with what it has started."),
    "resident_memory_bytes": ("rss_bytes", 1.0, "Resident memory of each rank."),
    "read_bytes_per_second": ("read_b_s", 1.0, "What each rank reads."),
    "written_bytes_per_second": ("write_b_s", 1.0, "What each rank writes."),
}


class MetricsError(Exception):
    """They cannot be offered; the message is one line with the command that mends it."""


class RunCollector:
    """What Prometheus asks: the last look as gauges. It is asked in a thread of its own; a look is never changed."""

    def __init__(self) -> None:
        self._seen: tuple[Snapshot, Verdict] | None = None

    def look(self, snapshot: Snapshot, verdict: Verdict) -> None:
        """The guard has looked."""
        self._seen = snapshot, verdict

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The protocol of `prometheus_client`."""
        if self._seen is not None:
            yield from _of_run(*self._seen)
            yield from _of_log(*self._seen)
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
        start_http_server(int(port), addr=host.strip("[]") or "127.0.0.1", registry=registry)
    except (OSError, OverflowError) as error:
        raise MetricsError(f"--metrics {address}: {getattr(error, 'strerror', None) or error}") from error
    return collector


def _gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"hangtop_{name}", text, labels=labels)


def _figures(figures: dict[str, tuple[str, float | None]]) -> Iterator[GaugeMetricFamily]:
    """One for each that is known."""
    for name, (text, value) in figures.items():
        if value is not None:
            found = _gauge(name, text)
            found.add_metric((), float(value))
            yield found


def _of_run(snapshot: Snapshot, verdict: Verdict) -> Iterator[GaugeMetricFamily]:
    info = _gauge("run_info", "1: which run is watched, and by which hangtop.", ("logs", "framework", "version"))
    info.add_metric((" ".join(snapshot.spec.logs), snapshot.log.framework, __version__), 1.0)
    words = _gauge("verdict", "1 for the word that is said of the run now.", ("verdict",))
    for word in STATES:
        words.add_metric((word,), float(word == verdict.word))
    stage = _gauge("stage", "1 for the stage that the run is in.", ("stage",))
    if verdict.stage is not None:
        stage.add_metric((verdict.stage.id,), 1.0)
    yield from (info, words, stage)
    yield from _figures(
        {
            "looked_timestamp_seconds": ("When hangtop last looked.", snapshot.now),
            "silence_seconds": ("Since the log last told anything new.", verdict.silence_s),
            "silence_limit_seconds": ("How long this stage may be silent.", verdict.limit_s),
            "stage_seconds": ("Since the stage began.", None if verdict.stage is None else verdict.stage.since_s),
            "ranks": ("Ranks that are known.", len(snapshot.ranks)),
            "ranks_behind": ("Ranks that are behind.", sum(bool(rank.lag) for rank in snapshot.ranks)),
            "culprits": ("Members that stand out.", len(verdict.culprits)),
            "processes": ("Processes of the run that live.", sum(not each.exited for each in snapshot.procs.processes)),
        }
    )


def _of_log(snapshot: Snapshot, _: Verdict) -> Iterator[GaugeMetricFamily]:
    log, progress = snapshot.log, snapshot.log.progress
    yield from _figures(
        {
            "step": ("The last step.", progress.step),
            "planned_steps": ("Of how many.", progress.total),
            "step_duration_seconds": ("What a step takes.", progress.step_s),
            "remaining_seconds": ("To the end, at this pace.", progress.eta_s),
            "attempt": ("How often the run was started in this log.", log.attempt),
            "log_bytes": ("Bytes of the log that were read.", log.bytes),
        }
    )
    findings = _gauge("findings", "Known messages in the log of this attempt.", ("severity",))
    count = Counter(finding.severity for finding in snapshot.findings)
    for severity in ("fatal", "warning", "hint"):
        findings.add_metric((severity,), float(count[severity]))
    values = _gauge("training_value", "Last values that the training printed, such as its loss.", ("name",))
    for name, told in progress.metrics.items():
        values.add_metric((name,), float("nan") if told is None else told)
    yield from (findings, values)


def _of_gpus(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    for ending, (field, factor, text) in GPU_FIGURES.items():
        found = _gauge(f"gpu_{ending}", text, ("host", "gpu"))
        for host, node in snapshot.state.gpus.items():
            for gpu in node.reading.gpus:
                if (value := getattr(gpu, field)) is not None:
                    found.add_metric((host, str(gpu.index)), factor * value)
        yield found


def _of_ranks(snapshot: Snapshot) -> Iterator[GaugeMetricFamily]:
    quiet = _gauge("rank_silence_seconds", "Since each rank last wrote.", ("rank",))
    for rank in snapshot.ranks:
        if (silence_s := rank.silence_s(snapshot.now)) is not None:
            quiet.add_metric((str(rank.rank),), silence_s)
    yield quiet
    for of_process, figures in ((False, RANK_FIGURES), (True, PROCESS_FIGURES)):
        for ending, (field, factor, text) in figures.items():
            found = _gauge(f"rank_{ending}", text, ("rank",))
            for rank in snapshot.ranks:
                value = getattr(rank.process if of_process else rank, field, None)
                if value is not None:
                    found.add_metric((str(rank.rank),), factor * value)
            yield found
