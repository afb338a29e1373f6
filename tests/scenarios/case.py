"""The scenarios as data, one run of one of them, and what came of it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import psutil

HERE = Path(__file__).parent
STALL_S = 8.0
"""Silence that is too long, in the suite: short, so that it ends today."""
START_S = 180.0
CHECK_LIMIT_S = 120.0
CLEAN_UP_S = 20.0
NO_ANSWER = "none"
"""Stands for the verdict where the run never started, or nobody could be asked in time."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run; see `scenarios.toml`."""

    name: str
    title: str
    argv: tuple[str, ...]
    verdict: tuple[str, ...]
    kind: str | None = None
    culprits: tuple[int, ...] = ()
    tuned: bool = False
    lives: bool = False
    again_s: float | None = None
    needs: str | None = None
    root: bool = False
    log: str = "train.log"
    tee: bool = False
    stall_s: float = STALL_S
    aged_s: float | None = None
    miss: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What one `hangtop check` said, and after how many seconds."""

    verdict: str
    kind: str | None
    culprits: tuple[int | None, ...]
    headline: str
    seconds: float


class Result(msgspec.Struct, frozen=True):
    """A scenario and the answers about it, in order. Seconds count from the moment the limit was passed."""

    scenario: Scenario
    answers: tuple[Answer, ...]

    @property
    def verdict_right(self) -> bool:
        return all(answer.verdict in self.scenario.verdict for answer in self.answers)

    @property
    def kind_right(self) -> bool | None:
        return None if self.scenario.kind is None else self.answers[0].kind == self.scenario.kind

    @property
    def culprit_right(self) -> bool | None:
        """All culprits named, and nobody else."""
        return None if not self.scenario.culprits else set(self.answers[0].culprits) == set(self.scenario.culprits)

    @property
    def false_hung(self) -> bool:
        return self.scenario.lives and any(answer.verdict in ("hung", "stalled", "crashed") for answer in self.answers)

    @property
    def right(self) -> bool:
        """All that was asked of it."""
        return self.verdict_right and self.kind_right is not False and self.culprit_right is not False

    @property
    def surprise(self) -> str | None:
        """What nobody expected of it: a miss that is not known, or a known one that is right by now."""
        if self.right:
            return "right by now, take its `miss` off" if self.scenario.miss else None
        return None if self.scenario.miss else "a new miss"

    @property
    def seconds(self) -> float:
        return self.answers[0].seconds


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenario: tuple[Scenario, ...]


def scenarios() -> tuple[Scenario, ...]:
    return msgspec.toml.decode((HERE / "scenarios.toml").read_bytes(), type=_File).scenario


def play(scenario: Scenario, folder: Path, after: bytes = b"") -> Result:
    """Start the run, wait until its log has been silent for the limit (or it trains, or has ended), ask hangtop, end the run.
    `after`: silence before this stands in the log is a slow machine's."""
    log = folder / scenario.log
    program = [sys.executable, str(HERE / "programs" / scenario.argv[0]), *scenario.argv[1:], "--folder", str(folder)]
    argv = ["bash", "-c", f"{shlex.join(program)} 2>&1 | tee {log}"] if scenario.tee else program
    with (folder / ("train.out" if scenario.tee else "train.log")).open("ab") as out:
        run = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True
        )
    try:
        if scenario.needs:
            _wait_for(folder / "imported")
        _wait_for_silence(log, after, trains="running" in scenario.verdict)
        if scenario.aged_s is not None:
            then = time.time() - scenario.aged_s
            os.utime(log, (then, then))
        answers = [_check(log, scenario.stall_s)]
        if scenario.again_s is not None:
            time.sleep(scenario.again_s)
            answers.append(_check(log, scenario.stall_s))
        return Result(scenario, tuple(answers))
    finally:
        _end(run)


def play_in_time(scenario: Scenario) -> Result:
    """`play` in a process of its own, which has a deadline: with a dead disk in the run, to end it or to remove its folder may
    take for ever. Whatever happens there, there is a result here."""
    limit_s = 2 * START_S + 2 * CHECK_LIMIT_S + (scenario.again_s or 0.0) + CLEAN_UP_S
    argv = [sys.executable, "-m", "tests.scenarios.case", scenario.name]
    player = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, problem = player.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired as late:
        said, problem = bytes(late.output or b"").decode(), f"not over within {limit_s:.0f} s"
    finally:
        _end(player)
    if said:
        return Result(scenario, msgspec.json.decode(said, type=tuple[Answer, ...]))
    last = (problem.strip().splitlines() or ["it said nothing"])[-1]
    return Result(scenario, (Answer(NO_ANSWER, None, (), last, limit_s),))


def log_files(log: Path) -> list[Path]:
    """The files of a log, which may be a folder of them; none before it is there."""
    if log.is_dir():
        return sorted(path for path in log.rglob("*") if path.is_file())
    return [log] if log.exists() else []


def said_by_check(log: Path, stall_s: float) -> dict[str, Any]:
    """What `hangtop check` prints of the run of this log.

    Raises `RuntimeError` where it prints nothing, `subprocess.TimeoutExpired` where it does not come to an end.
    """
    argv = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", f"{stall_s:g}", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
    if not done.stdout:
        raise RuntimeError(f"hangtop check said nothing: {done.stderr[-500:]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def main(name: str) -> None:
    """Play one and print its answers, before the folder is removed."""
    scenario = next(scenario for scenario in scenarios() if scenario.name == name)
    with TemporaryDirectory(prefix="hangtop-scenario-", ignore_cleanup_errors=True) as folder:
        print(msgspec.json.encode(play(scenario, Path(folder)).answers).decode(), flush=True)


def _end(run: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """The whole run: its group, and below it those that have a session of their own, as torchrun's ranks have. Who is blocked in
    the kernel is not waited for."""
    below: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(run.pid).children(recursive=True)
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    for process in below:
        with suppress(psutil.NoSuchProcess):
            process.kill()  # psutil looks at the start time again
    with suppress(subprocess.TimeoutExpired):
        run.wait(CLEAN_UP_S / 2)


def _wait_for(mark: Path) -> None:
    """Until a rank has imported its libraries, which takes long on a busy machine."""
    ends = time.monotonic() + START_S
    while not mark.exists():
        if time.monotonic() > ends:
            raise TimeoutError(f"{mark} never came")
        time.sleep(0.1)


def _wait_for_silence(log: Path, after: bytes, *, trains: bool) -> None:
    """Until the log is `STALL_S` old and holds `after`; or, of a run that goes on, until it trains."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        files = log_files(log)
        written = [file.stat() for file in files]
        silent = any(stat.st_size for stat in written) and time.time() - max(stat.st_mtime for stat in written) > STALL_S + 0.2
        if silent and any(after in file.read_bytes() for file in files):
            return
        if trains and any(b"step 5/" in file.read_bytes() for file in files):
            return
        time.sleep(0.1)
    raise TimeoutError(f"{log} never fell silent")


def _check(log: Path, stall_s: float) -> Answer:
    began = time.monotonic()
    said = said_by_check(log, stall_s)
    culprits = tuple(culprit["rank"] for culprit in said["culprits"])
    return Answer(said["verdict"], said["kind"], culprits, said["headline"], time.monotonic() - began)


if __name__ == "__main__":
    main(sys.argv[1])
