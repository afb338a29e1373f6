"""Plays the scenes of one room, inside of it: `python -m tests.scenarios.ownership.play ROOM [ROW NAME …]`.

Prints one outcome a line, as JSON. Rows without an `act` are looked at side by side, for they change nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec

from tests.fakes.nvml.stand_in import library_folder
from tests.fakes.ray_cluster import wait_for
from tests.scenarios.ownership import crowd, judge
from tests.scenarios.ownership.case import Matrix, Outcome, Row, Scene, matrix
from tests.scenarios.ownership.clusters import Cluster
from tests.scenarios.ownership.rooms import as_user
from tests.scenarios.ownership.runs import LiveRun, shell

ASK_S = 300.0
"""Bound of one command; longer than that is a hang."""
SIDE_BY_SIDE, BESIDE_RAY = 4, 2
"""Looks at a time: most of one is a wait. A cluster wants both cores of a small machine for itself."""
TRIES = 5
"""Blind is no answer: it says that this machine was too busy to see. Then it is asked again."""
FLOOD_BYTES, GOES_ON_S = 10_000_000, 120.0
"""More than any pipe holds; and the bound of its coming."""


class Room:
    """What is here: clusters by their key, words that stand for others' things, and what hangtop's environment has."""

    def __init__(self) -> None:
        self.clusters: dict[str, Cluster] = {}
        self.marks: list[str] = []
        self.environ: dict[str, str] = {}
        self.live: list[LiveRun] = []
        self._folders = 0

    def do(self, line: str) -> None:
        """One line of a scene: `cluster KEY USER PORT [DASHBOARD] [OPTION …]`, `job KEY WAY NAME`, `signal KEY DAEMON SIGNAL`,
        `driver-ends KEY NAME`, `mark WORD …`, `environ NAME=VALUE …`, `until 'TEST'`, `gpus KEY` (who has that mark uses GPU 1),
        or `USER: a shell's line`, in a folder of its own."""
        verb, *words = shlex.split(line)
        if verb == "cluster":
            key, user, port, *options = words
            dashboard = int(options.pop(0)) if options and options[0].isdigit() else None
            self.clusters[key] = Cluster(key, user, int(port), dashboard)
            self.clusters[key].start(*options)
        elif verb == "job":
            self.clusters[words[0]].job(*words[1:])
        elif verb == "signal":
            self.clusters[words[0]].signal(*words[1:])
        elif verb == "driver-ends":
            self.clusters[words[0]].end_driver(words[1])
        elif verb == "mark":
            self.marks += words
        elif verb == "until":
            wait_for(lambda: subprocess.run(["bash", "-c", words[0]], capture_output=True, check=False).returncode == 0, ASK_S)
        elif verb == "gpus":
            self.environ |= stand_in_driver(words[0])
        elif verb == "environ":
            self.environ |= dict(word.split("=", 1) for word in words)
        else:
            self._start(verb.removesuffix(":"), line.partition(": ")[2])

    def _start(self, user: str, line: str) -> None:
        self._folders += 1
        folder = Path(f"/tmp/here/{self._folders}")
        folder.mkdir(parents=True)
        os.chown(folder, as_user(user).get("user", 0), -1)  # type: ignore[arg-type]
        shell(["bash", "-c", line], folder, user)

    def facts(self, live: LiveRun) -> judge.Facts:
        """Whose is what, seen from this run."""
        here = crowd.beings()
        also = live.run.clusters
        strangers = {pid for key in also for pid in self.clusters[key].actors()}
        strangers |= {pid for run in self.live if run is not live for pid in run.actors()}
        own = crowd.own(live.key, here, also, strangers)
        foreign = set(here) - own - crowd.looking(here)
        marks = [mark for key, cluster in self.clusters.items() if key not in also for mark in cluster.marks]
        return judge.Facts(frozenset(own), frozenset(foreign), (*marks, *self.marks))


def stand_in_driver(key: str) -> dict[str, str]:
    """The environment in which hangtop sees two GPUs, one of them busy with the processes of this mark."""
    library = library_folder()
    library.chmod(0o755)
    wait_for(lambda: any(being.run == key for being in crowd.beings().values()), ASK_S)
    pids = sorted(being.pid for being in crowd.beings().values() if being.run == key)
    state = Path("/tmp/driver.txt")
    users = "".join(f"proc 1 {pid} mem_mib=60300 type=C\n" for pid in pids)
    state.write_text(f"gpus 2\ngpu * util=0 power=70 mem_used_mib=10\ngpu 1 util=100 power=72 mem_used_mib=61000\n{users}")
    return {"LD_LIBRARY_PATH": str(library), "FAKENVML_STATE": str(state)}


def ask(command: str, live: LiveRun, user: str, environ: dict[str, str]) -> judge.Answer:
    """What hangtop says, asked by this user in the run's folder."""
    words = shlex.split(command)
    here = [] if "--log" in words else ["--log", live.run.log]
    limits = ["--stall", str(live.run.stall_s)]
    more = ["--json"] if words[0] in ("check", "stacks") else [] if "--yes" in words else ["--dry-run"]
    options = as_user(user)
    options["env"] = {**options["env"], "MATRIX_LOOK": "1", **environ}  # type: ignore[dict-item]
    argv = [sys.executable, "-m", "hangtop", *words, *here, *limits, *more]
    done = subprocess.run(argv, cwd=live.folder, capture_output=True, text=True, timeout=ASK_S, check=False, **options)  # type: ignore[call-overload]
    return judge.Answer(" ".join(words[: 2 if words[0] == "ray" else 1]), done.returncode, done.stdout, done.stderr)


def look(room: Room, row: Row, live: LiveRun) -> Outcome:
    """Ask all that the row asks, and judge it."""
    began, faults, said = time.monotonic(), [], []
    live.wait()
    verdicts = row.verdict or live.run.verdict
    for command in row.ask:
        before = room.facts(live)
        answer = ask(command, live, row.user, room.environ)
        for _ in range(TRIES):
            if judge.verdict_of(answer) != "blind":
                break
            answer = ask(command, live, row.user, room.environ)
        after = room.facts(live)
        facts = judge.Facts(before.own | after.own, (before.foreign | after.foreign) - before.own - after.own, before.marks)
        faults += judge.faults_of(answer, facts, verdicts)
        said.append(told(answer))
    return Outcome(row.name, tuple(dict.fromkeys(faults)), tuple(said), time.monotonic() - began)


def told(answer: judge.Answer) -> str:
    """The answer, in a line or a few."""
    if answer.name == "check" and answer.out.startswith("{"):
        one = json.loads(answer.out)
        return f"check {answer.code}: {one['verdict']}, {one['headline']}"
    text = (answer.out + answer.err).strip()
    return f"{answer.name} {answer.code}: {text[:1500]}"


def play(room: Room, known: Matrix, scene: Scene, rows: Sequence[Row], number: int) -> Iterator[Outcome]:
    """All rows of one scene."""
    for line in scene.do:
        room.do(line)
    if not rows:
        return
    shared = {row.run for row in rows if not row.alters}
    live = {name: LiveRun(f"s{number}r{place}", known.run[name], scene) for place, name in enumerate(sorted(shared))}
    room.live = list(live.values())
    looks = [row for row in rows if not row.alters]
    for run in live.values():
        run.wait()
    before, things = crowd.beings(), crowd.files()
    with ThreadPoolExecutor(BESIDE_RAY if room.clusters else SIDE_BY_SIDE) as pool:
        outcomes = list(pool.map(lambda row: look(room, row, live[row.run]), looks))
    hurt = harm(before, things)
    for outcome in outcomes:
        yield msgspec.structs.replace(outcome, faults=(*outcome.faults, *hurt))
    for run in live.values():
        run.end()
    for place, row in enumerate(row for row in rows if row.alters):
        yield carry_out(room, row, LiveRun(f"s{number}a{place}", known.run[row.run], scene))


def carry_out(room: Room, row: Row, live: LiveRun) -> Outcome:
    """Look, then really do it, or let it happen; what is not the run's is as it was."""
    looked = look(room, row, live)
    facts = room.facts(live)
    clusters = [room.clusters[key] for key in live.run.clusters]
    sessions = {Path("/tmp/ray", cluster.session) for cluster in clusters}
    before, things = crowd.beings(), crowd.files(sessions, {f"127.0.0.1:{cluster.port}" for cluster in clusters})
    others = {pid: being for pid, being in before.items() if pid in facts.foreign}
    written = live.size()
    if row.event:
        subprocess.run(["bash", "-c", row.event], cwd=live.folder, check=True, env={**os.environ, "KEY": live.key})
    words = (row.act or "").removeprefix("twice: ")
    times = 0 if row.act is None else 2 if row.act.startswith("twice: ") else 1
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: ask(words, live, row.user, room.environ), range(times)))
    what = row.act or row.event
    faults = [*looked.faults, *(f"{what}: {fault}" for fault in harm(others, things) if row.act)]
    tracebacks = [answer.err for answer in answers if "Traceback (most recent call last)" in answer.err]
    faults += [f"{what}: a traceback: {text.strip().splitlines()[-1]}" for text in tracebacks]
    faults += held(row, live, answers, written)
    live.end()
    return msgspec.structs.replace(looked, faults=tuple(faults), said=(*looked.said, *map(told, answers)))


def held(row: Row, live: LiveRun, answers: Sequence[judge.Answer], written: int) -> Iterator[str]:
    """What the row wants besides: `gone`, none of the run is left, or it is named; `lives`, it was left alone; `one copy`,
    one launcher, if a start is told; `code N …`, one of these exit codes; `goes on`, its log grows."""
    here = crowd.beings()
    left = {pid for pid in crowd.own(live.key, here) if here[pid].alive and not here[pid].looks}
    tops = {pid for pid in left if here[pid].ppid not in left}
    said = "".join(answer.out + answer.err for answer in answers)
    for want in row.holds:
        if want == "gone" and left:
            if not all(str(pid) in said for pid in left) or any(answer.code == 0 for answer in answers):
                yield f"{row.act}: {sorted(left)} live on, unnamed, or the exit code is 0: {said[-300:]}"
        elif want == "lives" and not left:
            yield f"{row.act}: the run was ended"
        elif want == "one copy" and len(tops) != 1 and any(answer.code == 0 for answer in answers):
            yield f"{row.act}: {len(tops)} copies of the run: {said[-300:]}"
        elif want == "goes on":
            with suppress(AssertionError):  # of the bound
                wait_for(lambda: live.size() > written + FLOOD_BYTES or not tops, GOES_ON_S)
            if live.size() <= written + FLOOD_BYTES:
                yield f"the run was held up: its log grew by {live.size() - written} bytes, and no more"
        elif want.startswith("code "):
            for answer in answers:
                if str(answer.code) not in want.split()[1:]:
                    yield f"{row.act}: exit {answer.code}, should be {want[5:]}: {(answer.out + answer.err)[-300:]}"


def harm(before: Mapping[int, crowd.Being], things: Mapping[Path, crowd.Thing]) -> list[str]:
    """What was here, is not the run's, and is not as it was."""
    here, left = crowd.beings(), crowd.files()
    stayed = [being for being in before.values() if not being.looks and not being.spare]
    ended = [being for being in stayed if being.pid not in here or here[being.pid].started != being.started]
    faults = [f"pid {being.pid} of {being.run or 'others'} has ended" for being in ended]
    gone = [path for path in things if path not in left and not crowd.passing(path)]
    faults += [f"{len(gone)} paths were removed, the first {gone[0]}"] if gone else []
    faults += [
        f"{path} was changed"
        for path, thing in things.items()
        if path in left and not crowd.passing(path) and not thing.is_still_at(path)
    ]
    faults += [f"signal sent: {path} {path.read_text().split()}" for path in left if path.name.startswith("signals-")]
    return faults


def main(name: str, *wanted: str) -> int:
    known, room = matrix(), Room()
    for number, scene in enumerate(known.scene):
        if scene.room != name:
            continue
        rows = [row for row in known.row if row.scene == scene.name and (not wanted or row.name in wanted)]
        for outcome in play(room, known, scene, rows, number):
            print(msgspec.json.encode(outcome).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
