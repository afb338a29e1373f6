"""`python -m tests.hosts [WORD …]` (of the names of scenes): hangtop over real sshd on four hosts of their own, with a real
torchrun, on a wire that is late, that repeats, loses and is cut in each phase. By hand, as root; it says what it lacks."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.hosts.hosts import Hosts, hosts, missing
from tests.hosts.runs import Failed, Run, expect, until

COUNT = 4
EVERY = (1, 2, 3, 4)
FOUL = {"delay_ms": 120.0, "jitter_ms": 60.0, "twice": 0.2, "lost": 0.02}
HOLDS = "import fcntl, time; lock = open('/dev/shm/cache.lock', 'a'); fcntl.flock(lock, 2); print(1, flush=True); time.sleep(9e4)"


def the_rank_is_named_with_its_host_and_line(on: Hosts) -> None:
    run = Run(on, "HANG_RANK=5", "HOW=lock")
    run.await_step(7, still_s=12)
    told = run.checked()
    accused = [(each["rank"], each["host"]) for each in told["culprits"]]
    expect(told["verdict"] == "hung" and accused == [(5, "n3")], told["headline"])
    expect("fetch_batch (train.py:" in str(told["culprits"]), told["culprits"])
    expect({each["host"] for each in told["ranks"]} == {"n1", "n2", "n3", "n4"}, told["ranks"])


def on_a_foul_wire_the_same_is_said(on: Hosts) -> None:
    run = _of_before(on)
    on.weather(*EVERY, **FOUL)
    told = run.checked()
    on.weather(*EVERY)
    expect([(each["rank"], each["host"]) for each in told["culprits"]] == [(5, "n3")], told["headline"])


def a_host_that_is_cut_off_is_named_and_not_taken_to_be_clean(on: Hosts) -> None:
    run = _of_before(on)
    on.weather(3, cut=True)
    until(lambda: "server n3 not responding" in run.log.read_text(), "the last word of the ssh that started the ranks of n3")
    run.await_step(7, still_s=12)
    told = run.checked()
    expect("n3 cannot be seen" in told["headline"], told["headline"])
    done = run.hangtop("stop", "--yes")
    there = run.living(3)
    expect(done.returncode == 1 and "n3" in done.stdout.split("nothing is known of a node")[-1], done.stdout)
    expect(not any(run.living(number) for number in (1, 2, 4)), "something of the run is left where it was stopped")
    expect(there, "n3 was reached, though it was cut off")
    on.weather(3)


def who_has_the_lock_is_named_with_its_host(on: Hosts) -> None:
    holder = subprocess.Popen(on.on(3, "python3", "-c", HOLDS), stdout=subprocess.PIPE)
    assert holder.stdout is not None
    expect(holder.stdout.readline() == b"1\n", "the lock was not taken")
    try:
        run = Run(on, "HANG_RANK=5", "HOW=flock")
        run.await_step(7, still_s=12)
        told = run.checked()
    finally:
        holder.kill()
        holder.wait()
    expect("(pid " in told["headline"] and " on n3)" in told["headline"], told["headline"])


def a_restart_begins_on_all_hosts_on_a_foul_wire(on: Hosts) -> None:
    run = Run(on, "HANG_RANK=5", "HOW=lock")
    run.await_step(7, still_s=12)
    (on.folder / "healed").write_text("")
    on.weather(*EVERY, **FOUL)
    command = subprocess.Popen(run.command("restart", "--yes"), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    until(lambda: run.log.exists() and "step 20/" in run.log.read_text(), "step 20 of the next attempt")
    on.weather(*EVERY)
    said, _ = command.communicate(timeout=240)
    for host in ("n2", "n3", "n4"):
        expect(f"gone on {host}" in said, said)
    expect(all(len(run.living(number)) >= 3 for number in EVERY), "a host has not all of its ranks")


def a_session_that_dies_is_opened_again(on: Hosts) -> None:
    run = _of_before(on)
    watch = subprocess.Popen(run.command("--plain", "--record", str(on.folder / "seen.jsonl")), stdout=subprocess.PIPE, text=True)
    try:
        until(lambda: _sessions(on), "the session of hangtop on n2")
        first = _sessions(on)
        for pid in first:
            subprocess.run(on.on(2, "kill", "-9", pid), check=False)
        until(lambda: set(_sessions(on)) - set(first), "the next session on n2")
    finally:  # a signal to nsenter(1) does not come to what it started
        for pid in _running(on, 1, "--plain"):
            subprocess.run(on.on(1, "kill", pid), check=False)
        watch.communicate()
    told = run.checked()
    expect(told["verdict"] == "running", told["headline"])


def a_wire_that_is_cut_between_term_and_kill_ends_the_signals(on: Hosts) -> None:
    run = Run(on, "DEAF=1")
    run.await_step(7)
    command = subprocess.Popen(run.command("stop", "--yes"), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert command.stdout is not None
    said = ""
    for line in command.stdout:
        if "SIGTERM to" in line and " on n4 " in line and "SIGTERM" not in said.partition("cut")[2]:
            on.weather(4, cut=True)
            said += "cut\n"
        said += line
    command.wait()
    there = run.living(4)
    on.weather(4)
    claims = "gone on n4" in said
    expect(command.returncode == 1 or claims, said)
    expect(not (claims and there), f"it says that n4 is clean, and {there} live there:\n{said}")
    expect("SIGKILL to" not in "".join(line for line in said.splitlines() if " on n4 " in line), said)
    for number in EVERY:
        for pid in run.living(number):
            subprocess.run(on.on(number, "kill", "-9", str(pid)), check=False)


SCENES: tuple[Callable[[Hosts], None], ...] = (
    the_rank_is_named_with_its_host_and_line,
    on_a_foul_wire_the_same_is_said,
    a_host_that_is_cut_off_is_named_and_not_taken_to_be_clean,
    who_has_the_lock_is_named_with_its_host,
    a_restart_begins_on_all_hosts_on_a_foul_wire,
    a_session_that_dies_is_opened_again,
    a_wire_that_is_cut_between_term_and_kill_ends_the_signals,
)


def _of_before(on: Hosts) -> Run:
    """The run of the scene before this one, without starting anything."""
    run = object.__new__(Run)
    run.hosts, run.log = on, on.folder / "train.log"
    return run


def _sessions(on: Hosts) -> list[str]:
    """Processes on n2 that run what hangtop sent."""
    return _running(on, 2, "i=sys.stdin.buffer")


def _running(on: Hosts, number: int, words: str) -> list[str]:
    """Pids there of those with such words."""
    told = subprocess.run(on.on(number, "ps", "-eo", "pid,args"), capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in told.splitlines() if words in line]


def _cleared(on: Hosts) -> None:
    """Fine weather, and nothing of a run before the scenes that start one."""
    on.weather(*EVERY)
    for number in EVERY:
        for pid in _of_before(on).living(number):
            subprocess.run(on.on(number, "kill", "-9", str(pid)), check=False)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the hosts end with it
    if (why := missing()) is not None:
        print(f"skipped: {why}")
        return 0
    failures = 0
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder, hosts(COUNT, Path(folder)) as on:
        for scene in (scene for scene in SCENES if all(word in scene.__name__ for word in sys.argv[1:])):
            if scene.__code__.co_names[:1] == ("Run",):
                _cleared(on)
            began = time.monotonic()
            try:
                scene(on)
                print(f"ok      {scene.__name__.replace('_', ' ')}  {time.monotonic() - began:.0f} s", flush=True)
            except Failed as error:
                on.weather(*EVERY)
                failures += 1
                print(f"FAILED  {scene.__name__.replace('_', ' ')}\n{error}", flush=True)
        _cleared(on)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
