"""The evidence of a run in one archive, for a bug report: what was seen, the log's ends, and a ready issue text. Secrets removed.

Everything is text or JSON of bounded size. The archive is written beside its place and moved there when it is whole.
"""

from __future__ import annotations

import io
import os
import platform
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from hangtop import __version__
from hangtop.common.secrets.redactor import Redactor
from hangtop.common.text import clock, size, some
from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.monitor.monitor import Monitor
from hangtop.records import wire
from hangtop.records.advice import Advice
from hangtop.records.nodes import node_of, pid_there
from hangtop.records.process import Process
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState, fold

ISSUE_LINES, ISSUE_FINDINGS, ISSUE_ADVICE = 25, 8, 6
ENVIRONMENT = re.compile(
    r"(?i)cuda|nccl|rank|world_size|master_|torch|ray_|vllm|sglang|slurm|gloo|hf_|transformers|deepspeed|omp_|python"
)
HEAD_BYTES, TAIL_BYTES = 256 * 1024, 2 * 1024 * 1024
LOGS_BYTES = 48 << 20
"""Of all logs together: with many ranks each gives less."""
LEAST_BYTES = 4 * 1024
CONTEXT_BYTES = 4 * 1024
MOST_FINDINGS = 50
SESSION_BYTES = 32 << 20
JUDGED_EVERY_S = 0.5


def compose(
    snapshot: Snapshot,
    verdict: Verdict,
    environ: Mapping[str, str],
    versions: Mapping[str, str],
    session: Sequence[Reading] = (),
    stacks: str = "",
    pictures: Mapping[str, str] = {},
) -> dict[str, str]:
    """File names and texts, redacted. `environ`: of the run if known, else of this shell. `session`: the last readings.
    `stacks`: the stacks as a person reads them. `pictures`: SVG by file name."""
    redactor = Redactor()
    chosen = {name: value for name, value in sorted(environ.items()) if ENVIRONMENT.search(name)}
    state, told = snapshot.state, advice(snapshot, verdict, snapshot.spec.config_dir)
    texts = {
        "processes.txt": "\n".join(_processes(snapshot)),
        "versions.txt": "\n".join(f"{name} {version}" for name, version in sorted(versions.items())),
        "issue.md": issue(snapshot, verdict, told, chosen, versions),
        "history.txt": "\n".join(_history(snapshot, verdict, session)),
        "stacks.txt": stacks or "no stacks were taken: hangtop takes them when the run is quiet, and only where it may",
        **pictures,
        **{f"log/{name}": text for name, text in log_parts(snapshot).items()},
    }
    records: dict[str, object] = {
        "verdict.json": report(snapshot, verdict, told),
        "gpus.json": {host: node.reading for host, node in state.gpus.items()},
        "ray.json": dict(state.ray),
        "stacks.json": state.looks,
    }
    files = {
        **{name: redactor.text(text) for name, text in texts.items()},
        **{name: _pretty(redactor.tree(msgspec.to_builtins(record))) for name, record in records.items()},
        "environment.txt": "\n".join(f"{name}={value}" for name, value in redactor.environ(chosen).items()),
        "session.hangtop": "".join(session_lines(snapshot, session, redactor)),
    }
    taken = [f"{times:>5}  {kind}" for kind, times in sorted(redactor.taken.items())] or ["nothing was found to take out"]
    heading = "What was taken out, by kind; never what it was. Look through the files before you share them."
    return {**files, "redacted.txt": "\n".join((heading, *taken))}


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def write(files: Mapping[str, str], place: Path, at: float) -> None:
    """Write the archive as a whole or not at all. Raises `OSError`."""
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
            for path, text in files.items():
                data = text.encode("utf-8", "replace")
                entry = tarfile.TarInfo(f"hangtop-bundle/{path}")
                entry.size, entry.mtime, entry.mode = len(data), int(at), 0o644
                archive.addfile(entry, io.BytesIO(data))
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise


def issue(
    snapshot: Snapshot, verdict: Verdict, told: Sequence[Advice], environ: Mapping[str, str], versions: Mapping[str, str]
) -> str:
    """Markdown with what maintainers ask for: what happened, hardware, versions, command, log, environment, what was tried."""
    log = snapshot.log
    gpus = [
        f"{len(node.reading.gpus)} × {node.reading.gpus[0].name or 'GPU'}"
        for node in snapshot.state.gpus.values()
        if node.reading.gpus
    ]
    processes = snapshot.procs.processes
    command = next(
        (process.command for process in processes if process.role == "launcher"), processes[0].command if processes else "?"
    )
    shown = [
        name for name in ("python", "torch", "vllm", "sglang", "ray", "transformers", "deepspeed", "verl") if name in versions
    ]
    lines = [
        f"### {verdict.word}: {verdict.headline}",
        "",
        f"- framework: {log.framework}, stage: {verdict.stage.title if verdict.stage else '?'}, "
        f"ranks: {len(snapshot.ranks) or '?'}",
        f"- silent for {verdict.silence_s or 0:.0f} s, limit {verdict.limit_s or 0:.0f} s",
        f"- seen by hangtop {__version__} at {datetime.fromtimestamp(snapshot.now, UTC).isoformat(timespec='seconds')}",
        "",
        "**Evidence**",
        "",
        *(f"- {fact.source}: {fact.text}" for fact in verdict.evidence),
        *(f"- {culprit.with_node}: {', '.join(culprit.why)} ({culprit.confidence})" for culprit in verdict.culprits),
        *([f"- wrong if {verdict.refute}"] if verdict.refute else []),
        *(f"- perhaps: {cause}" for cause in dict.fromkeys(each.cause for each in told[:ISSUE_ADVICE])),
        "",
        "**Messages found**",
        "",
        *(
            f"- {finding.id} ({finding.severity}, {finding.role}): {finding.text[:200]}"
            for finding in log.findings[:ISSUE_FINDINGS]
        ),
        *([] if log.findings else ["- none that hangtop knows"]),
        "",
        f"**Hardware**: {', '.join(gpus) or 'no GPU seen'}; {_machine(snapshot)}",
        f"**Versions**: {', '.join(f'{name} {versions[name]}' for name in shown) or '?'}",
        "",
        "**Command**",
        "```",
        command,
        "```",
        f"**Last lines of the log** (of {len(log.files)}; more in log/)",
        "```",
        *([f"{line.prefix}{line.text}" for line in snapshot.state.tail[-ISSUE_LINES:]] or [log.last_line or ""]),
        "```",
        "**Environment**: " + (", ".join(f"`{name}={value}`" for name, value in list(environ.items())[:20]) or "?"),
        "",
        "**Expected**: ",
        "**Tried so far**: ",
    ]
    return "\n".join(lines) + "\n"


def _machine(snapshot: Snapshot) -> str:
    """Cores, memory and kernel of this machine; `platform` when the host was not looked at."""
    host = snapshot.state.machine
    memory = f", {size(host.memory_bytes)} of memory" if host is not None and host.memory_bytes else ""
    cores = "" if host is None else f"{some(host.cores, 'core')}{memory}, "
    return f"{cores}{platform.platform()}"


def _processes(snapshot: Snapshot) -> list[str]:
    header = f"{'node':>4} {'pid':>8} {'ppid':>8} {'rank':>5} s {'cpu':>5} {'role':<12} command"
    return [header, *map(_process, snapshot.procs.processes)]


def _process(process: Process) -> str:
    node, rank = node_of(process.pid) or "", "" if process.rank is None else process.rank
    cpu = "?" if process.cpu_percent is None else f"{process.cpu_percent:.0f}"
    pids = f"{pid_there(process.pid):>8} {pid_there(process.ppid):>8}"
    return f"{node:>4} {pids} {rank:>5} {process.state} {cpu:>5} {process.role:<12} {process.command}"


def _history(snapshot: Snapshot, verdict: Verdict, session: Sequence[Reading]) -> Iterator[str]:
    """The stages of the run as its log tells them, what hangtop said while it looked, and its last word."""
    yield "stages, by the log's own clock"
    for event in snapshot.log.stages:
        attempt = f"  attempt {event.attempt}" if event.attempt > 1 else ""
        yield f"  {clock(event.at)}  {event.title} ({event.id}, {event.profile}){attempt}"
    yield "verdicts, while this was packed"
    state, monitor, judged = RunState(), Monitor(snapshot.spec), 0.0
    for reading in session:
        state = fold(state, reading)
        if state.log is not None and reading.at - judged >= JUDGED_EVERY_S:
            judged = reading.at
            monitor.look(state, reading.at)
    told = monitor.timeline.entries
    for entry in told:
        yield f"  {clock(entry.at)}  {entry.word}: {entry.headline}"
    if not told or told[-1].headline != verdict.headline:
        yield f"  {clock(snapshot.now)}  {verdict.word}: {verdict.headline}"


def session_lines(snapshot: Snapshot, session: Sequence[Reading], redactor: Redactor) -> Iterator[str]:
    """The session as a recording: `hangtop replay session.hangtop` shows it. Of a very large one the newest part."""
    lines: list[str] = []
    left = SESSION_BYTES
    for reading in reversed(session):
        line = msgspec.json.encode(redactor.tree(msgspec.to_builtins(reading))).decode() + "\n"
        left -= len(line)
        if left < 0:
            break
        lines.append(line)
    header = msgspec.to_builtins(wire.Header(wire.SCHEMA, __version__, snapshot.now, snapshot.spec))
    yield msgspec.json.encode(redactor.tree(header)).decode() + "\n"
    yield from reversed(lines)


def log_parts(snapshot: Snapshot) -> dict[str, str]:
    """The head and tail of each log, and the surroundings of each finding; small files give a head alone."""
    texts: dict[str, str] = {}
    for number, file in enumerate(snapshot.log.files):
        if file.status not in ("ok", "gone") or file.path == "-":
            continue
        name = f"{number:02d}-{Path(file.path).name}"
        share = max(LEAST_BYTES, LOGS_BYTES // len(snapshot.log.files))
        head, tail = min(HEAD_BYTES, share // 4), min(TAIL_BYTES, share * 3 // 4)
        found = [finding for finding in snapshot.log.findings if finding.file == number][:MOST_FINDINGS]
        try:
            with open(file.path, "rb") as raw:
                end = raw.seek(0, os.SEEK_END)
                texts[f"{name}.head.txt"] = _part(raw, 0, head, end)
                texts[f"{name}.tail.txt"] = _part(raw, max(0, end - tail), tail, end)
                for finding in found:
                    context = _part(raw, max(0, finding.offset - CONTEXT_BYTES), 2 * CONTEXT_BYTES, end)
                    texts[f"{name}.at-{finding.offset}.{finding.id}.txt"] = context
        except OSError as error:
            texts[f"{name}.missing.txt"] = f"{file.path}: {error.strerror}"
    return texts


def _part(raw: BinaryIO, begin: int, count: int, end: int) -> str:
    """So many bytes from `begin` on, less the lines that are cut at its edges: half a secret has no shape to know it by.

    A line that is longer than the part stays as it is."""
    raw.seek(begin)
    data = raw.read(count)
    first = data.find(b"\n") + 1 if begin else 0
    last = data.rfind(b"\n") + 1 if begin + len(data) < end else len(data)
    return (data[first:last] if first < last else data).decode("utf-8", "replace")
