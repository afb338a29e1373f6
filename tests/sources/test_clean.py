"""Leftovers of dead runs go; what is in use, young, somebody else's or merely alike stays. Real files and real processes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

import msgspec
import pytest
from msgspec.structs import replace

from hangtop.actions.execute import delete_leftovers
from hangtop.actions.execute.delete_leftovers import _move_all
from hangtop.actions.execute.executor import execute
from hangtop.actions.execute.steps import CancelFlag
from hangtop.probe.context import ProbeContext
from hangtop.probe.leftovers.leftover_places import LeftoverPlaces, candidates, never_removed
from hangtop.probe.leftovers.leftovers_source import LeftoverSource
from hangtop.probe.leftovers.open_handles import files_of, open_handles
from hangtop.records.ask import LeftoversAsk
from hangtop.records.plan import LeftoversReading, Plan, Step
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.guard import Guard
from hangtop.system.processes.table import ProcessTable, Stat
from tests.fakes.processes import PATIENCE_S, Family, python, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is in use is read from /proc: Linux only")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")

OLD_S = 3600.0
SESSION = "session_2026-01-10_08-00-00_123456_4242"
HOLD = "import sys, time; held = open(sys.argv[1]); print(flush=True); time.sleep(600)"
MAP = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
held = mmap.mmap(fd, 0)
os.close(fd)
print(flush=True)
time.sleep(600)
"""


@pytest.fixture
def places(tmp_path: Path) -> LeftoverPlaces:
    for name in ("shm", "ray", "datasets"):
        (tmp_path / name).mkdir()
    return LeftoverPlaces((str(tmp_path / "shm"),), (str(tmp_path / "ray"),), (str(tmp_path / "datasets"),))


def file(path: Path, *, age_s: float = OLD_S, data: bytes = b"x" * 4096) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def session(places: LeftoverPlaces, name: str = SESSION, *, age_s: float = OLD_S) -> Path:
    folder = Path(places.ray[0]) / name
    file(folder / "logs" / "raylet.out", age_s=age_s)
    file(folder / f"ray_spilled_objects_{'ab' * 14}" / "object-1", age_s=age_s, data=b"y" * 100_000)
    for path in (folder / "logs", *folder.glob("ray_*"), folder):
        os.utime(path, (time.time() - age_s,) * 2)
    return folder


def look(
    places: LeftoverPlaces,
    *,
    later_s: float = OLD_S,
    older_s: float = 600.0,
    pids: tuple[int, ...] = (),
    ending: tuple[int, ...] = (),
) -> LeftoversReading:
    """As if `later_s` had passed: a change time cannot be set back, so the clock is set on."""
    ask = LeftoversAsk(1, older_s, pids, ending)
    (reading,) = LeftoverSource(ProbeContext(WatchSpec()), places, Family()).answer(ask, time.time() + later_s)
    assert isinstance(reading, LeftoversReading)
    return reading


def names(reading: LeftoversReading) -> set[str]:
    return {os.path.basename(removal.path) for removal in reading.found}


def reasons(reading: LeftoversReading) -> dict[str, str]:
    return {os.path.basename(spared.what): spared.why for spared in reading.kept}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor, too, looks an hour from now."""
    monkeypatch.setattr(delete_leftovers.clock, "now", lambda: time.time() + OLD_S)


def carry_out(reading: LeftoversReading, older_s: float = 600.0) -> list[Step]:
    return list(execute(Plan("clean", "Clean", removals=reading.found, older_s=older_s), Family()))


def test_everything_that_nobody_holds_goes_and_its_size_is_told(places: LeftoverPlaces, later: None) -> None:
    shm = Path(places.shm[0])
    for name in ("nccl-AbC123", "torch_999999_1_0", "psm_deadbeef", "sem.mp-x1", "plasma-old"):
        file(shm / name)
    folder = session(places)
    lock = file(Path(places.datasets[0]) / "_home_data.lock", data=b"")
    found = look(places)
    assert len(found.found) == 7
    size = next(removal.allocated_bytes for removal in found.found if removal.path == str(folder))
    assert size >= 100_000
    steps = carry_out(found)
    assert steps[-1].text.startswith("7 of 7 paths removed")
    assert not folder.exists()
    assert not lock.exists()
    assert list(shm.iterdir()) == []
    assert Path(places.ray[0]).exists()


def test_what_is_mapped_or_open_stays(places: LeftoverPlaces) -> None:
    mapped, opened = file(Path(places.shm[0]) / "nccl-mapped"), file(Path(places.shm[0]) / "psm_open")
    logs = session(places) / "logs" / "raylet.out"
    with (
        python(MAP, str(mapped), stdout=subprocess.PIPE) as a,
        python(HOLD, str(opened), stdout=subprocess.PIPE) as b,
        python(HOLD, str(logs), stdout=subprocess.PIPE) as c,
    ):
        for process in (a, b, c):
            assert process.stdout is not None
            process.stdout.readline()
        found = look(places)
    assert names(found) == set()
    assert reasons(found) == {
        "nccl-mapped": f"in use by pid {a.pid}",
        "psm_open": f"in use by pid {b.pid}",
        SESSION: f"in use by pid {c.pid}",
    }


def test_a_ray_session_stays_while_a_process_names_it(places: LeftoverPlaces) -> None:
    folder = session(places)
    with python("import time; print(flush=True); time.sleep(600)", f"--session-name={SESSION}", stdout=subprocess.PIPE) as raylet:
        assert raylet.stdout is not None
        raylet.stdout.readline()
        assert reasons(look(places)) == {folder.name: f"in use by pid {raylet.pid}"}
    assert names(look(places)) == {SESSION}


def test_a_ray_session_stays_while_a_socket_in_it_is_open() -> None:
    with tempfile.TemporaryDirectory(prefix="ht", dir="/tmp") as short:  # the path of a socket has room for 107 bytes
        places = LeftoverPlaces(ray=(short,))
        folder = session(places)
        with socket.socket(socket.AF_UNIX) as raylet:
            raylet.bind(str(folder / "logs" / "raylet.sock"))
            raylet.listen()
            assert reasons(look(places)) == {SESSION: "a socket in it is open"}
        assert names(look(places)) == {SESSION}


def test_what_is_young_stays(places: LeftoverPlaces) -> None:
    file(Path(places.shm[0]) / "nccl-young")
    session(places)
    found = look(places, later_s=60.0)
    assert names(found) == set()
    assert all(why.startswith("used ") for why in reasons(found).values())


def test_a_segment_whose_maker_lives_or_whose_name_may_be_known_stays(places: LeftoverPlaces) -> None:
    file(Path(places.shm[0]) / f"torch_{os.getppid()}_1_0")
    file(Path(places.shm[0]) / "nccl-free")
    made = file(Path(places.shm[0]) / "psm_known")
    tracker = "import multiprocessing.resource_tracker, time; print(flush=True); time.sleep(600)"
    with python(tracker, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        made.write_bytes(b"made while the tracker lived")
        found = look(places)
        assert names(found) == {"nccl-free"}
        assert "lives" in reasons(found)[f"torch_{os.getppid()}_1_0"]
        assert "may still know its name" in reasons(found)["psm_known"]


def test_what_one_that_ends_first_holds_is_left_over_unless_somebody_else_needs_it_too(places: LeftoverPlaces) -> None:
    shm = Path(places.shm[0])
    alone, shared, made = file(shm / "nccl-alone"), file(shm / "nccl-shared"), file(shm / "psm_known")
    tracker = "import multiprocessing.resource_tracker, time; print(flush=True); time.sleep(600)"
    with (
        python(HOLD, str(alone), stdout=subprocess.PIPE) as daemon,
        python(HOLD, str(shared), stdout=subprocess.PIPE) as first,
        python(HOLD, str(shared), stdout=subprocess.PIPE) as second,
        python(tracker, stdout=subprocess.PIPE) as program,
    ):
        for process in (daemon, first, second, program):
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(0.05)
        made.write_bytes(b"made while the tracker lived")
        assert names(look(places)) == set()
        for holder in (first, second):
            found = look(places, ending=(daemon.pid, holder.pid))
            assert names(found) == {"nccl-alone"}
            assert "may still know its name" in reasons(found)["psm_known"]
        assert names(look(places, ending=(daemon.pid, first.pid, second.pid, program.pid))) == {
            path.name for path in shm.iterdir()
        }


def test_links_second_names_and_other_names_are_no_leftovers(places: LeftoverPlaces, tmp_path: Path) -> None:
    shm, precious = Path(places.shm[0]), file(tmp_path / "precious")
    (shm / "nccl-link").symlink_to(precious)
    os.link(precious, shm / "psm_second")
    file(shm / "my_own_data")
    (Path(places.ray[0]) / "session_latest").symlink_to(session(places))
    (Path(places.ray[0]) / "session_2026-01-10_08-00-00_111111_1").symlink_to(tmp_path)
    assert {os.path.basename(candidate.path) for candidate in candidates(places)} == {"psm_second", SESSION}
    found = look(places)
    assert names(found) == {SESSION}
    assert "second name" in reasons(found)["psm_second"]


def test_a_link_inside_a_session_is_removed_and_not_followed(places: LeftoverPlaces, tmp_path: Path, later: None) -> None:
    precious = file(tmp_path / "outside" / "model.safetensors")
    folder = session(places)
    (folder / "runtime_resources").symlink_to(tmp_path / "outside")
    carry_out(look(places))
    assert not folder.exists()
    assert precious.exists()


def test_a_locked_dataset_lock_stays_and_a_free_one_goes(places: LeftoverPlaces) -> None:
    held, free = file(Path(places.datasets[0]) / "a.lock"), file(Path(places.datasets[0]) / "x" / "b.lock")
    file(Path(places.datasets[0]) / "x" / "data.arrow")
    lock = "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(600)"
    with python(lock, str(held), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = look(places)
    assert names(found) == {free.name}
    assert reasons(found)["a.lock"] == f"in use by pid {process.pid}"


@needs_root
def test_what_belongs_to_somebody_else_is_not_even_named(places: LeftoverPlaces) -> None:
    os.chown(file(Path(places.shm[0]) / "nccl-theirs"), 12345, 12345)
    folder = session(places)
    os.chown(folder / "logs" / "raylet.out", 12345, 12345)
    found = look(places)
    assert names(found) == set()
    assert reasons(found) == {SESSION: "it holds files of another user"}


def test_what_was_exchanged_or_changed_since_it_was_shown_stays(places: LeftoverPlaces, later: None) -> None:
    exchanged, touched = file(Path(places.shm[0]) / "nccl-1"), file(Path(places.shm[0]) / "nccl-2")
    found = look(places)
    assert len(found.found) == 2
    with open(exchanged):  # so that the new file cannot get the inode of the old one
        exchanged.unlink()
        file(exchanged)
    os.utime(touched, (time.time() - 1800,) * 2)
    steps = carry_out(found)
    assert [step.kind for step in steps] == ["skipped", "skipped"]
    assert exchanged.exists()
    assert touched.exists()


def test_what_is_taken_into_use_while_it_is_moved_is_put_back(
    places: LeftoverPlaces, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment, folder = file(Path(places.shm[0]) / "nccl-1"), session(places)
    found = look(places)
    holders = []

    def move_and_take(*arguments: object) -> object:
        moved = yield from _move_all(*arguments)  # type: ignore[arg-type]
        for aside in moved:
            place = aside.path + ("/logs/raylet.out" if aside.removal.folder else "")
            taken = subprocess.Popen([sys.executable, "-c", HOLD, place], stdout=subprocess.PIPE)
            holders.append(taken)
            assert taken.stdout is not None
            taken.stdout.readline()
        return moved

    monkeypatch.setattr(delete_leftovers, "_move_all", move_and_take)
    try:
        steps = carry_out(found)
    finally:
        for holder in holders:
            holder.kill()
            holder.wait(PATIENCE_S)
            holder.stdout.close()
    assert [step.kind for step in steps] == ["doing", "doing", "survived", "survived"]
    assert all("it was put back" in step.text for step in steps[2:])
    assert segment.exists()
    assert (folder / "logs" / "raylet.out").exists()


@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_a_clean_that_a_person_breaks_off_leaves_everything_whole_and_says_so(
    places: LeftoverPlaces, later: None, line: int
) -> None:
    """At any line: what was not deleted is back in its place, and the next clean does the rest."""
    segment, folder = file(Path(places.shm[0]) / "nccl-1"), session(places)
    halt, steps = CancelFlag(), []
    plan = Plan("clean", "Clean", removals=look(places).found)
    for said in execute(plan, Family(), halt):
        steps.append(said)
        if len(steps) == line:
            halt.ask()
    told = "\n".join(step.text for step in steps)
    for path, whole in ((segment, segment), (folder, folder / "logs" / "raylet.out")):
        assert whole.exists() == (f"{path} is gone" not in told)
        assert whole.exists() == (f"{path} stays where it is" in told or f"{path}: it was not deleted; it was put back" in told)
    assert [path.name for path in Path(places.shm[0]).iterdir() if path != segment] == []
    assert (steps[-1].text.startswith("broken off as asked")) == (segment.exists() or folder.exists())
    carry_out(look(places))
    assert not segment.exists()
    assert not folder.exists()


def test_a_removal_that_was_broken_off_is_finished_by_the_next(places: LeftoverPlaces, later: None) -> None:
    """Killed between the move and the end: the thing is aside, whole, and a leftover itself."""
    folder = session(places)
    program = (
        "import msgspec, os, sys; from hangtop.actions.execute import delete_leftovers as removing;"
        "from hangtop.records.plan import Plan; from tests.fakes.processes import Family; import time;"
        "removing.clock.now = lambda: time.time() + 3600; removing.shutil.rmtree = lambda *a, **k: os._exit(9);"
        "plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan);"
        "print(*(step.text for step in removing.remove(plan, Family(), removing.CancelFlag())))"
    )
    plan = Plan("clean", "Clean", removals=look(places).found)
    asked = msgspec.json.encode(plan)
    done = subprocess.run([sys.executable, "-c", program], input=asked, capture_output=True, check=False, timeout=240)
    assert done.returncode == 9, done.stdout.decode()
    assert not folder.exists()
    (aside,) = Path(places.ray[0]).glob(".hangtop-clean-*")
    assert (aside / SESSION / "logs" / "raylet.out").exists()
    carry_out(look(places))
    assert not aside.exists()


def test_a_process_that_still_writes_is_named(places: LeftoverPlaces, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    writer = "import sys, time; f = open(sys.argv[1], 'w'); f.write('x'); f.flush(); print(flush=True); time.sleep(600)"
    with python(writer, str(log), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert look(places, later_s=0.0, pids=(process.pid,)).writing == {process.pid: str(log)}
        assert look(places, later_s=OLD_S, pids=(process.pid,)).writing == {}


def test_what_guides_delete_and_hangtop_does_not_is_named_with_why(tmp_path: Path) -> None:
    (tmp_path / "datasets" / "wikitext").mkdir(parents=True)
    (tmp_path / "nccl-topo").mkdir()
    (tmp_path / "other").mkdir()
    left = list(never_removed(LeftoverPlaces(datasets=(str(tmp_path / "datasets"),)), {"XDG_CACHE_HOME": str(tmp_path)}))
    own = {each.what: each.why for each in left if each.what.startswith(str(tmp_path))}
    assert "a cache is never removed" in own[str(tmp_path / "datasets")]
    assert "NCCL keeps nothing there" in own[str(tmp_path / "nccl-topo")]
    assert len(own) == 2


def test_the_command_shows_first_and_cleans_when_told_to(tmp_path: Path) -> None:
    """From the shell, with an orphan rank and a planted lock; `--older` in seconds' worth of minutes."""
    lock = file(tmp_path / "datasets" / "old.lock", data=b"")
    orphan = (
        "import os, subprocess, sys, time\n"
        "env = dict(os.environ, RANK='0', WORLD_SIZE='2')\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], env=env)\n"
        "print(child.pid, flush=True)\n"
    )
    environ = {**os.environ, "HF_DATASETS_CACHE": str(lock.parent), "RAY_TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    with python(orphan, stdout=subprocess.PIPE) as middleman:
        assert middleman.stdout is not None
        pid = int(middleman.stdout.readline())
        middleman.wait(PATIENCE_S)
        time.sleep(1.2)
        command = [sys.executable, "-m", "hangtop", "clean", "--older", "0.02"]
        shown = subprocess.run([*command, "--dry-run"], env=environ, capture_output=True, text=True, check=False, timeout=240)
        assert shown.returncode == 0, shown.stderr
        assert str(pid) in shown.stdout
        assert str(lock) in shown.stdout
        assert "nothing was done" in shown.stdout
        assert lock.exists()
        assert os.path.exists(f"/proc/{pid}")


OWN_TABLE = """
import ctypes, os, sys, threading, time

def hold():
    assert ctypes.CDLL(None).unshare(0x400) == 0  # CLONE_FILES
    os.open(sys.argv[1], os.O_RDONLY)
    print(flush=True)
    time.sleep(600)

threading.Thread(target=hold, daemon=True).start()
time.sleep(600)
"""
LEADER_ENDED = """
import ctypes, sys, threading, time

def hold():
    held = open(sys.argv[1])
    time.sleep(0.2)
    print(flush=True)
    time.sleep(600)

threading.Thread(target=hold).start()
ctypes.CDLL(None).pthread_exit(None)
"""
UNDER_WAY = """
import os, socket, sys, time
ends = socket.socketpair()
fd = os.open(sys.argv[1], os.O_RDONLY)
socket.send_fds(ends[0], [b"x"], [fd])
os.close(fd)
print(flush=True)
time.sleep(600)
"""
ELSEWHERE = """
import mmap, os, sys, tempfile, time
folder, name = os.path.split(sys.argv[1])
place = tempfile.mkdtemp(dir="/tmp")
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0  # CLONE_NEWNS
assert libc.mount(None, b"/", None, 0x44000, None) == 0  # private, all below
assert libc.mount(folder.encode(), place.encode(), None, 0x1000, None) == 0  # bound
assert libc.umount2(folder.encode(), 0x2) in (0, -1)
held = open(os.path.join(place, name)) if sys.argv[2] == "open" else None
if held is None:
    with open(os.path.join(place, name), "r+b") as file:
        held = mmap.mmap(file.fileno(), 0)
print(flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        pytest.param(OWN_TABLE, (), id="a thread with files of its own"),
        pytest.param(LEADER_ENDED, (), id="a process whose first thread has ended"),
        pytest.param(UNDER_WAY, (), id="under way on a socket"),
        pytest.param(ELSEWHERE, ("open",), id="open where the folder is mounted elsewhere", marks=needs_root),
        pytest.param(ELSEWHERE, ("map",), id="mapped where the folder is mounted elsewhere", marks=needs_root),
    ],
)
def test_what_is_held_in_a_rare_way_stays_in_the_plan_and_in_the_removal(
    program, words, places: LeftoverPlaces, later: None
) -> None:
    segment, folder = file(Path(places.shm[0]) / "nccl-held"), session(places)
    before = look(places)
    assert names(before) == {"nccl-held", SESSION}
    with (
        python(program, str(segment), *words, stdout=subprocess.PIPE) as holder,
        python(program, str(folder / "logs" / "raylet.out"), *words, stdout=subprocess.PIPE) as other,
    ):
        for process in (holder, other):
            assert process.stdout is not None
            process.stdout.readline()
        found = look(places)
        steps = carry_out(before)
    assert names(found) == set()
    assert [step.kind for step in steps] == ["skipped", "skipped"]
    assert segment.exists()
    assert (folder / "logs" / "raylet.out").exists()


def test_what_only_a_probe_of_hangtop_has_open_is_left_over(places: LeftoverPlaces) -> None:
    folder = session(places)
    with open(folder / "logs" / "raylet.out") as log, running(sys.executable, "-c", HOLD, log.name, "x", stdin=log) as reader:
        assert reasons(look(places)) == {SESSION: f"in use by pid {reader.pid}"}
    with open(folder / "logs" / "raylet.out") as log, running(sys.executable, "-m", "hangtop.probe", stdin=log, stdout=-1):
        assert names(look(places)) == {SESSION}


def test_a_process_that_refuses_is_not_asked_again_after_a_pause() -> None:
    """Without root's rights every other user's process refuses: each question would take longer, for nothing."""
    asked: list[int] = []

    class Refusing(Family):
        def command(self, pid: int) -> tuple[str, ...]:
            asked.append(pid)
            raise PermissionError

    assert files_of(cast("ProcessTable", Refusing()), [1, 2], "/dev/shm", Guard()) == frozenset()
    assert asked == [1, 2]


@pytest.mark.parametrize(("becomes", "is_unseen"), [("sshd", False), ("python3", True)])
def test_a_child_of_sshd_that_becomes_another_program_while_it_is_looked_at_may_hold_something(
    becomes: str, is_unseen: bool, tmp_path: Path
) -> None:
    with running("sleep", "600") as child:

        class Changing(Family):
            looks = 0

            @property
            def stats(self) -> Mapping[int, Stat]:
                stats = dict(super().stats)
                if child.pid in stats:
                    stats[child.pid] = replace(stats[child.pid], name="sshd" if self.looks < 2 else becomes)
                return stats

            def refresh(self, watched: Collection[int]) -> None:
                self.looks += 1
                self._real.refresh(watched)

            def command(self, pid: int) -> tuple[str, ...]:
                if pid == child.pid:
                    raise PermissionError
                return self._real.command(pid)

        in_use = open_handles(cast("ProcessTable", Changing()), [str(tmp_path)])
    assert (child.pid in in_use.unseen) is is_unseen


def leave_address(places: LeftoverPlaces, text: str) -> Path:
    return file(Path(places.ray[0]) / "ray_current_cluster", data=text.encode())


def test_the_address_of_a_cluster_that_is_gone_goes_and_that_of_one_that_lives_stays(places: LeftoverPlaces, later: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gcs:
        address = f"127.0.0.1:{gcs.getsockname()[1]}"
        written = leave_address(places, address)
        assert reasons(look(places)) == {"ray_current_cluster": f"somebody answers at {address}"}
    found = look(places)
    assert names(found) == {"ray_current_cluster"}
    raylet = Path(places.ray[0]).parent / "raylet"
    shutil.copy("/bin/sh", raylet)
    with running(str(raylet), "-c", "echo; read x", "raylet", f"--gcs-address={address}", stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert reasons(look(places)) == {"ray_current_cluster": f"pid {process.pid} is of the cluster at {address}"}
        assert [step.kind for step in carry_out(found)] == ["skipped"]
        assert written.exists()
    assert carry_out(found)[-1].kind == "proof"
    assert not written.exists()


def test_an_address_that_is_none_or_elsewhere_stays(places: LeftoverPlaces) -> None:
    leave_address(places, "rm -rf /")
    assert reasons(look(places)) == {"ray_current_cluster": "it does not hold an address"}


def test_an_address_that_is_written_anew_while_it_goes_is_put_back(places: LeftoverPlaces, later: None) -> None:
    """`ray start` writes into the file that is there."""
    written = leave_address(places, "127.0.0.1:1")
    found = look(places)
    steps = []
    with socket.create_server(("127.0.0.1", 0)) as gcs:
        for step in execute(Plan("clean", "Clean", removals=found.found), Family()):
            steps.append(step)
            if step.kind == "doing":
                with open(written, "r+") as started:
                    started.write(f"127.0.0.1:{gcs.getsockname()[1]}")
                os.utime(written, (time.time() - OLD_S,) * 2)
    assert steps[-1].kind == "survived"
    assert written.read_text().startswith("127.0.0.1:")


def test_the_link_of_the_latest_session_goes_only_when_it_leads_nowhere(places: LeftoverPlaces, later: None) -> None:
    folder, link = session(places), Path(places.ray[0]) / "session_latest"
    link.symlink_to(folder)
    assert names(look(places)) == {SESSION}
    carry_out(look(places))
    assert not folder.exists()
    found = look(places)
    assert names(found) == {"session_latest"}
    folder.mkdir()
    assert [step.kind for step in carry_out(found)] == ["skipped"]
    folder.rmdir()
    assert carry_out(found)[-1].kind == "proof"
    assert not link.is_symlink()


HIDDEN = """
import ctypes, os, socket, sys, time
libc = ctypes.CDLL(None)
listener = socket.socket(socket.AF_UNIX)
os.chdir(sys.argv[1])
assert libc.unshare(0x40000000) == 0  # CLONE_NEWNET
listener.bind("raylet")
listener.listen()
os.chdir("/")
print(flush=True)
time.sleep(600)
"""


def test_a_session_that_a_process_of_another_container_serves_stays_and_so_does_its_address(monkeypatch) -> None:
    """It is not in our table, and its socket is in no list that we see."""
    with tempfile.TemporaryDirectory(prefix="ht", dir="/tmp") as short:
        places = LeftoverPlaces(ray=(short,))
        sockets = session(places) / "sockets"
        sockets.mkdir()
        leave_address(places, "127.0.0.1:1")
        assert names(look(places)) == {SESSION, "ray_current_cluster"}
        with python(HIDDEN, str(sockets), stdout=subprocess.PIPE) as raylet:
            assert raylet.stdout is not None
            raylet.stdout.readline()
            monkeypatch.setattr(Family, "hidden", frozenset({raylet.pid}))
            told = reasons(look(places))
    assert told[SESSION] == "a process that cannot be seen from here listens at a socket in it"
    assert "whose processes cannot be seen" in told["ray_current_cluster"]
