"""A Ray session beside a run that has no part in it, and a run whose driver is gone: what is looked at, blamed and planned for.

One real cluster serves all tests. Only plans are asked for: nothing is carried out. Runs where Ray is installed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from hangtop.monitor.headless import TOO_LONG
from tests.fakes.processes import PATIENCE_S
from tests.fakes.ray_cluster import PROGRAMS, RealRay, missing, real_ray, wait_for

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("ray"),  # one cluster at a time: each wants both cores of a small machine
    pytest.mark.timeout(1800),
]

RANKS = 2
GKD = Path(__file__).parents[1] / "corpus" / "logs" / "seed_gkd_healthy.log"
SAID = "all of it is said"
PLAIN = f"import time; print(open({str(GKD)!r}).read(), {SAID!r}, sep='', flush=True); time.sleep(900)"


class Beside(Struct, frozen=True):
    """A cluster with a training run on it, and a plain process whose log reads like one of GKD."""

    ray: RealRay
    driver: subprocess.Popen[bytes]
    log: Path
    plain: subprocess.Popen[bytes]
    plain_log: Path

    def session(self) -> str:
        raylet = Path(f"/proc/{self.ray.pid_of('raylet')}/cmdline").read_bytes().decode().split("\0")
        folder = next(word.partition("=")[2] for word in raylet if word.startswith("--session_dir="))
        return folder.rpartition("/")[2]


@pytest.fixture(scope="module")
def beside() -> Iterator[Beside]:
    with real_ray() as ray:
        log, plain_log = ray.folder / "train.log", ray.folder / "plain.log"
        driver = started([sys.executable, str(PROGRAMS / "detached.py"), ray.gcs_address, str(RANKS)], ray, log)
        plain = started([sys.executable, "-c", PLAIN], ray, plain_log)
        wait_for(lambda: b"step:3 " in log.read_bytes(), 300)
        wait_for(lambda: SAID in plain_log.read_text(), PATIENCE_S)
        yield Beside(ray, driver, log, plain, plain_log)


def started(argv: list[str], ray: RealRay, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out, cwd=ray.folder, env=ray.environ, start_new_session=True)
    ray._started.append(process)
    return process


def hangtop(*words: str | Path) -> tuple[int, str]:
    """Exit code and output; again where a machine that is very busy did not let it look in time."""
    command = [sys.executable, "-m", "hangtop", *map(str, words)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    end = time.monotonic() + 3 * PATIENCE_S
    while True:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environ)
        assert "Traceback" not in done.stderr, done.stderr
        if TOO_LONG not in done.stdout or time.monotonic() > end:
            return done.returncode, done.stdout


def checked(log: Path) -> dict[str, object]:
    """The report of a check in which the Ray source has looked."""
    end = time.monotonic() + 3 * PATIENCE_S
    while True:
        said = json.loads(hangtop("check", "--log", log, "--stall", "5", "--json")[1])
        if said["sources"]["ray"]["ok"] or time.monotonic() > end:
            return said


def is_told_as_foreign(session: str, problem: str) -> bool:
    """One session is named, the others are counted: those of other tests may be on this machine meanwhile."""
    return "not this run's: " in problem and (f"{session} of " in problem or re.search(r" and \d+ more", problem) is not None)


def level(text: str) -> str:
    """The log without the steps behind the last that all ranks have told. Ray hands on the lines of one worker at a time, up to
    a hundred together: what reached the driver before it was killed may end far apart."""
    told = [max(map(int, re.findall(rf"rank {rank} of {RANKS} step (\d+)\n", text))) for rank in range(RANKS)]
    steps = ((line, re.search(r"step[: ](\d+)", line)) for line in text.splitlines(keepends=True))
    return "".join(line for line, found in steps if found is None or int(found[1]) <= min(told))


def pids_in(plan: str) -> set[int]:
    """The first number of each row of a plan's processes."""
    return {int(found) for found in re.findall(r"^ +(\d+)  \d\d:\d\d:\d\d ", plan, re.MULTILINE)}


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_run_that_reads_like_one_on_ray_has_no_part_in_the_session_beside_it(beside: Beside) -> None:
    said = checked(beside.plain_log)
    assert said["framework"] == "gkd"
    assert said["culprits"] == []
    assert not [fact for fact in said["evidence"] if fact["source"] == "ray"]
    assert is_told_as_foreign(beside.session(), said["sources"]["ray"]["problem"])
    code, plan = hangtop("recover", "--log", beside.plain_log)
    assert code == 0, plan
    assert pids_in(plan) == {beside.plain.pid}
    assert "no Ray session is proven to be this run's, so Ray is left as it is" in plan
    assert "/session_" not in plan


@pytest.mark.parametrize("verb", ["stop", "restart"])
def test_without_proof_the_session_is_asked_for_by_name(beside: Beside, verb: str) -> None:
    for words in ((), ("--log", beside.plain_log)):
        code, said = hangtop("ray", verb, *words)
        assert code == 2, said
        assert "none is proven to be this run's" in said
        row = next(line for line in said.splitlines() if line.lstrip().startswith(beside.session()))
        assert "detached.py" in row
        assert pids_in(said) == set()


def test_the_run_s_own_session_is_known_by_its_driver(beside: Beside) -> None:
    said = checked(beside.log)
    assert {rank["actor"] for rank in said["ranks"]} == {"WorkerDict"}
    assert beside.session() not in (said["sources"]["ray"]["problem"] or "")
    code, plan = hangtop("ray", "stop", "--log", beside.log)
    assert code == 0, plan
    assert {beside.driver.pid, beside.ray.pid_of("raylet"), beside.ray.pid_of("gcs_server")} <= pids_in(plan)
    assert beside.plain.pid not in pids_in(plan)


def test_once_the_driver_is_gone_the_log_tells_what_it_left_and_another_address_in_it_none_of_these(beside: Beside) -> None:
    ranks = {rank["pid"] for rank in checked(beside.log)["ranks"]}
    assert len(ranks) == RANKS
    beside.ray.signal(beside.driver.pid, signal.SIGKILL)
    beside.driver.wait(PATIENCE_S)
    text = beside.log.read_text()
    end = time.monotonic() + 3 * PATIENCE_S
    while (said := checked(beside.log))["verdict"] != "crashed":  # within seconds Ray sees that its driver is gone
        assert time.monotonic() < end, said
    assert said["headline"] == f"The driver is gone; {RANKS} actors of its job live on."
    assert any(fact["source"] == "left" and f"{RANKS} processes are left" in fact["text"] for fact in said["evidence"])
    code, plan = hangtop("stop", "--log", beside.log)
    assert code == 0, plan
    assert pids_in(plan) == ranks, "detached actors, and nothing of the cluster"
    code, said = hangtop("ray", "stop", "--log", beside.log)
    assert code == 0, said

    assert beside.ray.gcs_address in text
    other = beside.ray.folder / "other.log"
    other.write_text(level(text).replace(beside.ray.gcs_address, f"{beside.ray.gcs_address.rpartition(':')[0]}:9"))
    os.utime(other, (beside.log.stat().st_atime, beside.log.stat().st_mtime))
    code, said = hangtop("ray", "stop", "--log", other)
    assert code == 2, said
    assert "none is proven to be this run's" in said
    code, said = hangtop("stop", "--log", other)
    assert code == 2, said
    said = checked(other)
    assert said["culprits"] == [], (said["culprits"], said["headline"], said["evidence"], other.read_text()[-400:])
    assert "not this run's" in said["sources"]["ray"]["problem"]
