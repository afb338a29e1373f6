"""One run from its start to its proof: `python -m tests.scenarios.batches.play FILE NAME [--verify]` prints a line of JSON."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import msgspec
import psutil

from tests.scenarios.batches.data import PROGRAMS, Case, Pair, Record, Who, read
from tests.scenarios.case import log_files
from tests.scenarios.unseen.watch import LogWatch, alive, become_reaper, end_all, reap

STALL_S = 8.0
START_S = 300.0
HUNG_S = 60.0
"""No step for so long after the question: it hangs."""
ALIVE_LIMIT_S = 400.0
ALIVE_STEPS = 1
CHECK_LIMIT_S = 120.0
ENDS_S = 20.0


class Unfit(Exception):
    """The run never came to its question, or is not what it is said to be."""


class Watch(LogWatch):
    """It also shows what was written."""

    def texts(self) -> list[str]:
        return [self._text(file) for file in log_files(self.log)]


@dataclass
class Stage:
    """A run that plays."""

    case: Case
    main: subprocess.Popen[bytes]
    watch: Watch
    helpers: list[subprocess.Popen[bytes]]
    began: float = field(default_factory=time.time)

    def tick(self) -> int:
        """Orphans are taken as init takes them; how many steps there are."""
        reap({self.main.pid, *(helper.pid for helper in self.helpers)})
        return self.watch.look()

    def text(self) -> str:
        """What this run wrote into its log."""
        return "\n".join(self.watch.texts())

    def left(self) -> bool:
        """Whether a process of the run lives that is no helper's."""
        others = {helper.pid for helper in self.helpers}
        for helper in self.helpers:
            with suppress(psutil.NoSuchProcess):
                others |= {child.pid for child in psutil.Process(helper.pid).children(recursive=True)}
        return any(child.pid not in others and alive(child.pid) for child in psutil.Process().children(recursive=True))


def play(case: Case, *, ask: bool) -> Record:
    """Start it, ask hangtop at the right moment, watch until the label is proven, end it all."""
    with TemporaryDirectory(prefix="run-") as folder, TemporaryDirectory(prefix="far-") as far:
        try:
            stage = _begin(case, Path(folder), Path(far))
            _wait_for_moment(stage)
            asked, steps = time.time(), stage.tick()
            wanted = tuple(tuple(_find(who, stage) for who in group) for group in case.culprits)
            gone, left = stage.main.poll(), stage.left()
            answer = _check(Path(folder) / case.log) if ask else None
            answered = time.time()
            why = _prove(stage, steps, asked, gone, left, wanted)
            times = {"asked": asked - stage.began, "answered": answered - asked, "proven": time.time() - answered}
            times |= {"last_step": stage.watch.last_step - asked}
            record = Record(case.name, case.label, why, case.verdict, wanted, timeline=times)
            return msgspec.structs.replace(record, **answer) if answer else record
        except Unfit as problem:
            return Record(case.name, None, str(problem))
        finally:
            end_all()


def _begin(case: Case, folder: Path, far: Path) -> Stage:
    """The copy, the programs beside it, and the run."""
    shutil.copytree(PROGRAMS / case.folder, folder, dirs_exist_ok=True)
    shutil.copytree(PROGRAMS / "far", far, dirs_exist_ok=True)
    for name, old, new in case.edit:
        text = (folder / name).read_text(encoding="utf-8")
        if old not in text:
            raise Unfit(f"{name} does not have the text that is to be changed")
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    log = folder / case.log
    if case.earlier:
        (folder / case.earlier).rename(log)
        then = time.time() - 1800
        os.utime(log, (then, then))
    bare = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "HANGTOP"))}
    bare |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    helpers, told = [], []
    for line in case.helpers:
        helpers.append(_spawn(line, far, bare, subprocess.PIPE))
        out = helpers[-1].stdout
        assert out is not None
        told.append(out.readline().decode().strip())
    own = {key: value.format(*told) for key, value in case.environment.items()}
    watch = Watch(log, case.step)
    return Stage(case, _spawn(case.start, folder, bare | own, subprocess.DEVNULL), watch, helpers)


def _spawn(line: str, folder: Path, environment: dict[str, str], out: int) -> subprocess.Popen[bytes]:
    """A line for a shell in a session of its own, as a terminal has it; the shell stays."""
    return subprocess.Popen(
        ["bash", "-c", f"{line}\nexit $?"],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )


def _wait_for_moment(stage: Stage) -> None:
    """Until hangtop may be asked about this run.

    Raises `Unfit` where that does not come.
    """
    case, ends, ready = stage.case, time.time() + START_S, 0.0
    mark = re.compile(case.mark or case.step, re.MULTILINE)
    while time.time() < ends:
        stage.tick()
        ended = stage.main.poll() is not None
        if case.ask != "ended" and ended:
            raise Unfit(f"ended with {stage.main.poll()} before the question: {stage.text()[-300:]}")
        if case.ask == "ended":
            now_ready = ended and not stage.left()
        else:
            now_ready = bool(mark.search(stage.text())) and (case.ask == "talks" or stage.watch.silent_s() > STALL_S + 0.2)
        ready = (ready or time.time()) if now_ready else 0.0
        if ready and time.time() - ready > case.wait_s:
            return
        time.sleep(0.1)
    raise Unfit(f"its moment never came: {stage.text()[-300:]}")


def _prove(stage: Stage, steps: int, asked: float, gone: int | None, left: bool, wanted: tuple[tuple[Pair, ...], ...]) -> str:
    """Watch until the label is certain, and say why it is.

    Raises `Unfit` where it is not.
    """
    label, exits = stage.case.label, stage.case.exits
    if stage.case.ask == "ended":
        if left or not steps or gone != (0 if label == "finished" else exits):
            raise Unfit(f"meant {label}, and ended with {gone}: {stage.text()[-300:]}")
        return f"ended with {gone}, nobody left"
    while time.time() - asked < (ALIVE_LIMIT_S if label == "alive" else HUNG_S):
        now, code = stage.tick(), stage.main.poll()
        if label == "alive" and (now >= steps + ALIVE_STEPS or code == 0):
            return f"a step {time.time() - asked:.0f} s after the question" if code is None else "went on to its end"
        if code is not None or (label != "alive" and now > steps):
            raise Unfit(f"meant {label}, and after the question: code {code}, {now - steps} steps: {stage.text()[-300:]}")
        time.sleep(0.25)
    if label == "alive":
        raise Unfit("meant to live, and made no step for long")
    if not stage.left():
        raise Unfit(f"meant {label}, and nobody is left")
    lives = [alive(pid) for group in wanted for _, pid in group if pid is not None]
    if (label == "crashed" and all(lives)) or (label == "hung" and not all(lives)):
        raise Unfit(f"meant {label}, and of those to be named {sum(lives)} of {len(lives)} live")
    return f"no step for {HUNG_S:.0f} s after the question"


def _find(who: Who, stage: Stage) -> Pair:
    """Rank and pid of someone to be named."""
    pid: int | None = None
    if who.said:
        found = re.search(who.said, stage.text())
        if not found:
            raise Unfit(f"the log does not say {who.said}")
        pid = int(found.group(1))
    if who.cmd:
        pids = [child.pid for child in psutil.Process().children(recursive=True) if _runs(child, who.cmd)]
        if len(pids) != 1:
            raise Unfit(f"{len(pids)} processes match {who.cmd}")
        pid = pids[0]
    return (who.rank, pid)


def _runs(process: psutil.Process, pattern: str) -> bool:
    try:
        argv = process.cmdline()
    except psutil.Error:
        return False
    return argv[:2] != ["bash", "-c"] and re.search(pattern, " ".join(argv)) is not None


def _check(log: Path) -> dict[str, object]:
    began = time.monotonic()
    argv = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", f"{STALL_S:g}", "--json"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
        said = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as problem:
        return {"said": "none", "headline": str(problem), "seconds": time.monotonic() - began}
    culprits = tuple((culprit.get("rank"), culprit.get("pid")) for culprit in said["culprits"])
    return {
        "said": said["verdict"],
        "said_culprits": culprits,
        "headline": said.get("headline", ""),
        "seconds": time.monotonic() - began,
    }


@contextmanager
def _alone(case: Case) -> Iterator[None]:
    """Of the runs with Ray one plays at a time on a machine, whoever plays them: the lock is that of the unseen runs."""
    if "ray" not in case.needs:
        yield
        return
    with (Path(gettempdir()) / "ray.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Play one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("name")
    parser.add_argument("--verify", action="store_true", help="do not ask hangtop")
    given = parser.parse_args()
    become_reaper()
    case = next(case for case in read(given.file) if case.name == given.name)
    with _alone(case):
        record = play(case, ask=not given.verify)
    print(msgspec.json.encode(record).decode(), flush=True)


if __name__ == "__main__":
    main()
