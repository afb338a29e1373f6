"""What it costs that secrets are taken out of each line before it leaves the probe: once, and for each line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from hangtop.probe.without_secrets import SecretFilter
from hangtop.records.log import LogLine, LogReading
from tests.bench.logs import in_child
from tests.bench.options import Options
from tests.bench.row import Row
from tests.fakes.genlog import generate

LINES = 5_000
RUNS = 5
PLANTED = tuple(f"HF_TOKEN=hf_{number:034d} epoch {number}" for number in range(LINES))


def rows(options: Options) -> Iterator[Row]:
    plain = _texts("quiet")
    yield Row("the first line: its rules are made", in_child(_first_s, plain[0]) * 1e3, "ms")
    for what, texts in (("a line of a run's log", plain), ("a metric line", _texts("metrics")), ("a line with a token", PLANTED)):
        yield Row(f"{what}: looked through for secrets", in_child(_line_s, texts) * 1e6, "µs")


def _texts(mix: str) -> tuple[str, ...]:
    text = b"".join(generate(1_000_000, mix=mix)).decode()
    return tuple(filter(None, text.replace("\r", "\n").split("\n")))[:LINES]


def _first_s(text: str) -> float:
    began = time.process_time()
    SecretFilter().value(_reading([text]))
    return time.process_time() - began


def _line_s(texts: Sequence[str]) -> float:
    """Processor seconds a line, the least of some runs."""
    secrets, reading = SecretFilter(), _reading(texts)
    took = []
    for _ in range(RUNS):
        began = time.process_time()
        secrets.value(reading)
        took.append(time.process_time() - began)
    return min(took) / len(texts)


def _reading(texts: Sequence[str]) -> LogReading:
    return LogReading((), tail=tuple(LogLine(0, number, None, None, "", text) for number, text in enumerate(texts)))
