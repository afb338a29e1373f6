"""Everything that reads foreign bytes, each with real examples and the errors that it may raise: any other error is a fault."""

from __future__ import annotations

import contextlib
import json
import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from hangtop.cli.config import Config
from hangtop.common.decode_toml import TomlError, decode_toml
from hangtop.common.secrets.redactor import MARK, Redactor
from hangtop.diagnosis.check_report import report
from hangtop.feeds.replay import RecordingError, load
from hangtop.logs.catalog.profile import Profile
from hangtop.logs.digest import Digest
from hangtop.monitor.monitor import Monitor
from hangtop.probe.nccl import flight_recorder, ras
from hangtop.probe.ray.dashboard import api_schema
from hangtop.records import wire
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.linux import parse_stat
from tests.fakes.ray_dashboard import FakeDashboard
from tests.fakes.read_log import INDEX
from tests.fuzz import far_readers as far
from tests.fuzz import forests
from tests.planted.plant import harmless, planted

TESTS = Path(__file__).parents[1]
LONGEST_LOG = 6_000


class Reader(NamedTuple):
    """`read` raises nothing but `may`. `examples`: what it is made for."""

    name: str
    read: Callable[[bytes], object]
    examples: Callable[[], list[bytes]]
    may: tuple[type[Exception], ...] = ()


@cache
def recorded_lines() -> list[bytes]:
    """One line of each kind of reading, and the header."""
    kept: dict[str, bytes] = {}
    for path in sorted((TESTS / "recordings").glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            kind = json.loads(line).get("value", {}).get("type", "header")
            if len(line) > len(kept.get(kind, b"")) and len(line) < 60_000:
                kept[kind] = line
    return list(kept.values())


def _logs() -> list[bytes]:
    return [path.read_bytes()[-LONGEST_LOG:] for path in sorted((TESTS / "corpus" / "logs").rglob("*.log"))[:80]]


def _read_log(data: bytes) -> None:
    digest = Digest(INDEX, 0)
    digest.feed(data[: len(data) // 2])
    digest.facts()
    digest.feed(data[len(data) // 2 :])
    digest.facts()
    digest.tail(20)


def _judge(data: bytes) -> None:
    """A reading that can be decoded is folded, judged, told, and something is advised."""
    reading = wire.decode_reading(data)
    state, spec = RunState(), WatchSpec(logs=("train.log",))
    for each in (*_healthy(), reading):
        state = fold(state, each)
    monitor = Monitor(spec)
    snapshot = monitor.look(state, 1_768_000_000.0)
    msgspec.json.encode(report(snapshot, monitor.verdict, advice(snapshot, monitor.verdict, None)))


@cache
def _healthy() -> tuple[Reading, ...]:
    lines = (TESTS / "recordings" / "healthy.jsonl").read_bytes().splitlines()[1:]
    return tuple(wire.decode_reading(line) for line in lines[-6:])


def _replay(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session"
        path.write_bytes(data)
        for _ in load(path).readings():
            pass


def _recordings() -> list[bytes]:
    return [
        b"\n".join((TESTS / "recordings" / f"{name}.jsonl").read_bytes().splitlines()[:12]) for name in ("healthy", "crashed")
    ]


def _tables(data: bytes) -> None:
    for shape in (Config, Profile):
        with contextlib.suppress(TomlError):
            decode_toml(data, shape)


def _toml() -> list[bytes]:
    files = sorted((TESTS.parent / "hangtop" / "logs" / "catalog" / "profiles").rglob("*.toml"))
    return [path.read_bytes()[:4_000] for path in files[:8]] + [b'stall = 33.5\nsources = ["log"]\n']


def _dashboard(data: bytes) -> None:
    for read in (api_schema.jobs_of, lambda body: api_schema.data_of(body, dict[str, api_schema.Actor], "actors")):
        with contextlib.suppress(msgspec.DecodeError):
            read(data)


def _answers() -> list[bytes]:
    fake = FakeDashboard(nodes=1, workers=2)
    try:
        paths = ("/logical/actors", "/api/jobs/", "/nodes?view=summary")
        return [body for path in paths if (body := fake.answer(path, None)[1])]
    finally:
        fake.close()


def _ras(data: bytes) -> object:
    return ras.read(data.decode("utf-8", "replace"))


def _redact(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    once = Redactor().text(text)
    if once.count("\n") != text.count("\n"):
        raise AssertionError("a line came or went")
    if MARK not in once and once != text and "\x1b" not in text:
        raise AssertionError("something was changed without a mark")


STATUS = b'{"nccl_version":"2.27.3","communicators":[{"hash":"0x1","size":2,"ranks":[]}]}'

SEEDS = [bytes([seed]) for seed in range(8)]

READERS = (
    Reader("log", _read_log, _logs),
    Reader("wire", wire.decode_reading, recorded_lines, (wire.WireError,)),
    Reader("verdict", _judge, recorded_lines, (wire.WireError,)),
    Reader("recording", _replay, _recordings, (RecordingError,)),
    Reader("toml", _tables, _toml, (UnicodeDecodeError,)),
    Reader("dashboard", _dashboard, _answers),
    Reader("ras", _ras, lambda: [STATUS, b"NCCL version 2.27.3\n"], (ras.RasError,)),
    Reader("flight recorder", flight_recorder.load, lambda: [pickle.dumps({"entries": []})], (flight_recorder.NotADump,)),
    Reader("stat", parse_stat, lambda: [Path("/proc/self/stat").read_bytes()], (ValueError, IndexError)),
    Reader("forest", forests.judged, lambda: SEEDS),
    Reader("plan", forests.planned, lambda: SEEDS),
    Reader("node", far.node, far.node_lines),
    Reader("agent", far.agent, lambda: [b'{"output":"x","well":true,"took_s":0.1}\n'], far.NO_ANSWER),
    Reader("debug server", far.debug_server, lambda: [b'{"entries":[{"state":"x"}],"version":"2.1"}', b"n1:2000 rank 0"]),
    Reader("picture", far.picture, _recordings, far.REFUSED),
    Reader("picture of a log", far.picture_of_log, _logs, far.REFUSED),
    Reader("secrets", _redact, lambda: [each.text.encode() for each in planted(1, 5)] + [line.encode() for line in harmless(5)]),
)  # fmt: skip
