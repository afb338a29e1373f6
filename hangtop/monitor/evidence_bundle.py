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
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hangtop import __version__
from hangtop.common.redact import Redactor
from hangtop.common.text import size, some
from hangtop.diagnosis.check_report import report
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.monitor import bundle_contents
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict

ISSUE_LINES, ISSUE_FINDINGS = 25, 8
ENVIRONMENT = re.compile(
    r"(?i)cuda|nccl|rank|world_size|master_|torch|ray_|vllm|sglang|slurm|gloo|hf_|transformers|deepspeed|omp_|python"
)


def compose(
    snapshot: Snapshot,
    verdict: Verdict,
    environ: Mapping[str, str],
    versions: Mapping[str, str],
    session: Sequence[Reading] = (),
    stacks: str = "",
) -> dict[str, str]:
    """File names and texts, redacted. `environ`: of the run if known, else of this shell. `session`: the last readings.
    `stacks`: the stacks as a person reads them."""
    redactor = Redactor()
    chosen = {name: value for name, value in sorted(environ.items()) if ENVIRONMENT.search(name)}
    state = snapshot.state
    texts = {
        "processes.txt": "\n".join(_processes(snapshot)),
        "versions.txt": "\n".join(f"{name} {version}" for name, version in sorted(versions.items())),
        "issue.md": issue(snapshot, verdict, chosen, versions),
        "history.txt": "\n".join(bundle_contents.history(snapshot, verdict, session)),
        "stacks.txt": stacks or "no stacks were taken: hangtop takes them when the run is quiet, and only where it may",
        **{f"log/{name}": text for name, text in bundle_contents.logs(snapshot).items()},
    }
    records: dict[str, object] = {
        "verdict.json": report(snapshot, verdict),
        "gpus.json": {host: node.reading for host, node in state.gpus.items()},
        "ray.json": dict(state.ray),
        "stacks.json": state.looks,
    }
    files = {
        **{name: redactor.text(text) for name, text in texts.items()},
        **{name: _pretty(redactor.tree(msgspec.to_builtins(record))) for name, record in records.items()},
        "environment.txt": "\n".join(f"{name}={value}" for name, value in redactor.environ(chosen).items()),
        "session.hangtop": "".join(bundle_contents.recording(snapshot, session, redactor)),
    }
    taken = [f"{times:>5}  {kind}" for kind, times in sorted(redactor.taken.items())] or ["nothing was found to take out"]
    told = "What was taken out, by kind; never what it was. Look through the files before you share them."
    return {**files, "redacted.txt": "\n".join((told, *taken))}


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


def issue(snapshot: Snapshot, verdict: Verdict, environ: Mapping[str, str], versions: Mapping[str, str]) -> str:
    """Markdown with what maintainers ask for: what happened, hardware, versions, command, log, environment, what was tried."""
    log = snapshot.log
    gpus = [
        f"{len(node.reading.gpus)} × {node.reading.gpus[0].name or 'GPU'}"
        for node in snapshot.state.gpus.values()
        if node.reading.gpus
    ]
    processes = () if snapshot.procs is None else snapshot.procs.processes
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
        *(f"- {culprit.name}: {', '.join(culprit.why)} ({culprit.confidence})" for culprit in verdict.culprits),
        *([f"- wrong if {verdict.refute}"] if verdict.refute else []),
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
    header = f"{'pid':>8} {'ppid':>8} {'rank':>5} s {'cpu':>5} {'role':<12} command"
    processes = () if snapshot.procs is None else snapshot.procs.processes
    return [header] + [
        f"{process.pid:>8} {process.ppid:>8} {'' if process.rank is None else process.rank:>5} {process.state} "
        f"{'?' if process.cpu_percent is None else f'{process.cpu_percent:.0f}':>5} {process.role:<12} {process.command}"
        for process in processes
    ]
