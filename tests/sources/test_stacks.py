"""The stacks source on real processes that really wait, work, are stopped, gone, or out of reach."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import psutil
import pytest

from hangtop.cli.commands import stacks as command
from hangtop.demo.demo_run import DemoRun
from hangtop.demo.scenario import scenario
from hangtop.probe.context import ProbeContext
from hangtop.probe.stacks import pyspy, source_lines
from hangtop.probe.stacks import stack_source as source
from hangtop.probe.stacks.stack_source import StackSource
from hangtop.records.ask import StacksAsk
from hangtop.records.stack import Frame, Stack, StacksReading, add_look
from hangtop.records.watch_spec import WatchSpec
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.stack_classes import classes, number
from hangtop.system.processes.linux import read_stat
from tests.fakes.processes import PATIENCE_S, eventually, running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a Python program that prints `ready` before the call it is to wait in, and ends it with all its children."""
    running: list[subprocess.Popen[str]] = []

    def begin(body: str) -> subprocess.Popen[str]:
        program = tmp_path / f"program{len(running)}.py"
        program.write_text(body)
        process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True, start_new_session=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in running:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def look(*pids: int, stop: dict[int, int] | None = None, with_locals: bool = False) -> StacksReading:
    """`stop`: pid → start ticks of those that may be stopped."""
    looks: tuple[StacksReading, ...] = ()
    for part in StackSource(ProbeContext(WatchSpec())).answer(StacksAsk(1, pids, stop or {}, with_locals), time.time()):
        assert isinstance(part, StacksReading)
        looks = add_look(looks, part)
    (whole,) = looks
    assert whole.done
    return whole


def stack_of(pid: int) -> Stack:
    (stack,) = look(pid).stacks
    return stack


def until_it_is_in(pid: int, function: str, kind: str | None = None) -> Activity:
    """What it does, once it is in this function, and waits for this: from its `ready` to there takes a while."""

    def there() -> Activity | None:
        known = activity_of(stack_of(pid))
        return known if known is not None and known.function == function and kind in (None, known.kind) else None

    return eventually(there, f"{kind or 'its wait'} in {function}")


def until_it_sleeps(pid: int) -> int:
    """How often its main thread has gone to sleep, once it sleeps and is not woken."""

    def switches() -> int | None:
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return int(status["voluntary_ctxt_switches"]) if status["State"].startswith("S") else None

    def twice() -> int | None:
        first = switches()
        time.sleep(0.1)
        return first if first == switches() else None

    return eventually(twice, "its sleep")


PROGRAMS = """
### lock
import threading
lock = threading.Lock(); lock.acquire()
def load_shard():
    lock.acquire()
print("ready", flush=True)
load_shard()
### sleep
import time
def back_off():
    time.sleep(600)
print("ready", flush=True)
back_off()
### network
import socket
a, b = socket.socketpair()
def reward():
    a.recv(1)
print("ready", flush=True)
reward()
### pipe
import os
r, w = os.pipe()
def read_prompt():
    os.read(r, 1)
print("ready", flush=True)
read_prompt()
### queue
import queue
def next_batch():
    queue.Queue().get()
print("ready", flush=True)
next_batch()
### child
import subprocess
def convert():
    subprocess.run(['sleep', '600'])
print("ready", flush=True)
convert()
### user
def spin():
    n = 0
    while True:
        n += 1
print("ready", flush=True)
spin()
### collective
import socket
a, b = socket.socketpair()
def barrier():
    a.recv(1)
def step():
    barrier()
print("ready", flush=True)
step()
### join
import threading, time
def tokenize():
    time.sleep(600)
thread = threading.Thread(target=tokenize, name="tokenizer")
thread.start()
print("ready", flush=True)
thread.join()
### locals
import threading
def wait_for(shard):
    threading.Event().wait()
print("ready", flush=True)
wait_for(1234)
### handler
import faulthandler, signal, time
faulthandler.register(signal.SIGUSR1)
print("ready", flush=True)
time.sleep(600)
### idle
import asyncio
async def serve():
    await asyncio.sleep(600)
print("ready", flush=True)
asyncio.run(serve())
"""
WAITS = {kind: body for kind, _, body in (part.partition("\n") for part in PROGRAMS.split("### ")[1:])}
FUNCTIONS = {
    "lock": "load_shard",
    "sleep": "back_off",
    "network": "reward",
    "pipe": "read_prompt",
    "queue": "next_batch",
    "child": "convert",
    "user": "spin",
    "collective": "barrier",
    "idle": "<module>",
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_real_process_is_told_by_what_it_waits_for(kind: str, start: Start) -> None:
    until_it_is_in(start(WAITS[kind]).pid, FUNCTIONS[kind], kind)


def test_a_main_thread_that_joins_lets_its_worker_speak(start: Start) -> None:
    known = until_it_is_in(start(WAITS["join"]).pid, "tokenize", "sleep")
    assert known.thread.name == "tokenizer"


def test_a_stopped_process_still_shows_where_it_stands(start: Start) -> None:
    process = start(WAITS["lock"])
    until_it_is_in(process.pid, "load_shard", "lock")
    process.send_signal(signal.SIGSTOP)
    stack = eventually(lambda: found if (found := stack_of(process.pid)).state == "T" else None, "its stop")
    known = activity_of(stack)
    assert known is not None
    assert known.function == "load_shard"


def test_a_look_changes_nothing_in_the_process(start: Start) -> None:
    """Stopped and continued, it would have gone to sleep once more."""
    process = start(WAITS["sleep"])
    until_it_is_in(process.pid, "back_off", "sleep")
    before = until_it_sleeps(process.pid)
    for _ in range(5):
        stack_of(process.pid)
    assert until_it_sleeps(process.pid) == before


def test_the_source_lines_around_the_users_frames_come_along(start: Start) -> None:
    pid = start(WAITS["lock"]).pid
    until_it_is_in(pid, "load_shard", "lock")
    reading = look(pid)
    place = next(excerpt for excerpt in reading.excerpts if "    lock.acquire()" in excerpt.lines)
    assert place.lines[4 - place.first] == "    lock.acquire()"
    assert not place.changed


def test_the_loop_around_a_line_is_told_from_its_source(start: Start) -> None:
    pid = start(WAITS["user"]).pid
    until_it_is_in(pid, "spin")
    said = {excerpt.loop for excerpt in look(pid).excerpts}
    assert said == {"endless", "none"}, "and around the call of the function that loops there is none"


def test_the_source_of_a_program_that_came_on_the_command_line_is_read_from_there() -> None:
    with running(sys.executable, "-u", "-c", "import time\nfor _ in range(9):\n    time.sleep(600)") as given:
        place = source_lines.read(Frame("<module>", "<string>", 3), given.pid)
        assert source_lines.read(Frame("__init__", "<string>", 3), given.pid) is None, "code that a dataclass made"
    assert place is not None
    assert (place.loop, place.lines[2]) == ("ends", "    time.sleep(600)")


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root to give a process its own mounts")
def test_the_source_of_a_container_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("of this machine\n")
    program = f"mount -t tmpfs tmpfs {tmp_path} && echo of the container > {file} && echo mounted && exec sleep 600"
    with running("unshare", "--mount", "sh", "-c", program, stdout=subprocess.PIPE) as inside:
        assert inside.stdout is not None
        if inside.stdout.readline() != b"mounted\n":
            pytest.skip("this machine does not let root mount a file system")
        excerpt = source_lines.read(Frame("step", str(file), 1), inside.pid)
    assert excerpt is not None
    assert excerpt.lines == ("of the container",)


def test_a_source_edited_after_the_start_is_marked(start: Start, tmp_path: Path) -> None:
    process = start(WAITS["lock"])
    until_it_is_in(process.pid, "load_shard", "lock")
    later = time.time() + 60
    os.utime(tmp_path / "program0.py", (later, later))
    marks = [excerpt.changed for excerpt in look(process.pid).excerpts]
    assert marks
    assert all(marks)


def test_locals_come_only_when_asked_for(start: Start) -> None:
    pid = start(WAITS["locals"]).pid
    until_it_is_in(pid, "wait_for")
    (plain,) = look(pid).stacks
    (rich,) = look(pid, with_locals=True).stacks
    assert all(not frame.locals for thread in plain.threads for frame in thread.frames)
    assert ("shard", "1234") in [local for thread in rich.threads for frame in thread.frames for local in frame.locals]


@pytest.mark.parametrize(("sleeps", "timers"), [(1, 1), (3, 3)])
def test_an_event_loop_tells_how_many_moments_it_has_set_itself(start: Start, sleeps: int, timers: int) -> None:
    pid = start(
        WAITS["idle"].replace("asyncio.sleep(600)", f"asyncio.gather(*[asyncio.sleep(600) for _ in range({sleeps})])")
    ).pid
    until_it_is_in(pid, "<module>", "idle")
    (main,) = stack_of(pid).threads
    assert main.timers == timers
    assert not any(frame.locals for frame in main.frames), "of its local variables nothing else is kept"


def start_of(pid: int) -> int:
    stat = read_stat(pid)
    assert stat is not None
    return stat.start_ticks


def test_native_frames_come_only_when_asked_for(start: Start) -> None:
    pid = start(WAITS["lock"]).pid
    until_it_is_in(pid, "load_shard", "lock")
    reading = look(pid, stop={pid: start_of(pid)})
    assert [stack.stopped for stack in reading.stacks] == [True]
    assert any(".so" in frame.file for stack in reading.stacks for thread in stack.threads for frame in thread.frames)
    known = activity_of(reading.stacks[0])
    assert known is not None
    assert known.function == "load_shard"


def test_who_is_another_process_by_now_or_traced_or_stopped_already_is_read_without_a_stop(start: Start) -> None:
    first, traced, stopped = (start(WAITS["lock"]).pid for _ in range(3))
    for pid in (first, traced, stopped):
        until_it_is_in(pid, "load_shard", "lock")
    os.kill(stopped, signal.SIGSTOP)
    eventually(lambda: (stat := read_stat(stopped)) is not None and stat.state == "T", "its stop")
    with running(sys.executable, "-c", TRACER, str(traced), stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout is not None
        assert tracer.stdout.readline() == b"traced\n"
        stop = {first: start_of(first) + 1, traced: start_of(traced), stopped: start_of(stopped)}
        stacks = {stack.pid: stack for stack in look(first, traced, stopped, stop=stop).stacks}
    assert [stacks[pid].stopped for pid in (first, traced, stopped)] == [False, False, False]
    assert all(stacks[pid].threads for pid in (first, traced, stopped))
    after = read_stat(stopped)
    assert after is not None
    assert after.state == "T"


TRACER = """
import ctypes, sys, time
PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
print("traced" if libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), None, None) == 0 else ctypes.get_errno(), flush=True)
time.sleep(600)
"""


def test_nobody_is_stopped_by_a_look_without_frames_of_c_code_not_even_with_locals(start: Start) -> None:
    pid = start(WAITS["locals"]).pid
    until_it_is_in(pid, "wait_for")
    before = context_switches(pid)
    look(pid)
    look(pid, with_locals=True)
    assert context_switches(pid) == before, "who is stopped by ptrace wakes up for it"
    look(pid, stop={pid: start_of(pid)})
    assert context_switches(pid) > before


def context_switches(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def test_a_pid_that_is_gone_is_said(start: Start) -> None:
    process = start(WAITS["sleep"])
    process.kill()
    process.wait()
    assert stack_of(process.pid).problem == "the process is gone"


def test_a_zombie_is_said(start: Start) -> None:
    process = start(WAITS["sleep"])
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert "zombie" in (stack_of(process.pid).problem or "")


def test_a_process_that_is_not_python_is_said() -> None:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        assert stack_of(process.pid).problem == "not a Python process, or its interpreter cannot be read"
    finally:
        process.kill()
        process.wait()


def test_a_dump_by_signal_is_offered_only_where_a_handler_is_set(start: Start) -> None:
    with_handler = start(WAITS["handler"])
    without = start(WAITS["sleep"])
    assert stack_of(with_handler.pid).signal_dump
    assert not stack_of(without.pid).signal_dump
    assert with_handler.poll() is None
    assert without.poll() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_another_users_process_names_the_user_and_the_command(start: Start, tmp_path: Path) -> None:
    pid = start(WAITS["lock"]).pid
    with TemporaryDirectory(dir="/tmp") as folder:  # where everybody may go
        os.chmod(folder, 0o755)
        tool = shutil.copy(str(pyspy.find()), folder)
        os.chmod(tool, 0o755)
        refused = subprocess.run(
            pyspy.command(tool, pid), user=65534, group=65534, extra_groups=[], capture_output=True, check=False
        )
    dump = pyspy.Dump(pid, error=pyspy.first_words(refused.stderr), argv=("py-spy", "dump"))
    stack = source.stack_of(dump, None, 0.0)
    assert stack.problem is not None
    assert stack.problem.startswith("not permitted")
    assert stack.mend is not None


def test_without_py_spy_the_answer_is_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspy, "find", lambda: None)
    reading = look(os.getpid())
    assert reading.problem == "py-spy not found"
    assert reading.mend == f"{sys.executable} -m pip install py-spy"


def test_a_dump_that_does_not_end_is_ended_at_its_limit() -> None:
    (dump,) = pyspy.dumps([1], lambda pid: ("sleep", "6000"), limit_s=0.3)
    assert dump == pyspy.Dump(1, error="no answer within 0.3 s", late=True, argv=("sleep", "6000"))


def test_no_more_than_sixteen_dumps_run_at_once(tmp_path: Path) -> None:
    """The first ones wait for each other: none goes on before sixteen have come."""
    running, seen = tmp_path / "running", tmp_path / "seen"
    running.mkdir()
    all_here = f"[ $(wc -l < {seen}) -ge 16 ]"
    script = (
        f"touch {running}/$$; ls {running} | wc -l >> {seen}; until {all_here}; do sleep 0.1; done; rm {running}/$$; echo '[]'"
    )
    found = list(pyspy.dumps(range(40), lambda pid: ("sh", "-c", script), limit_s=PATIENCE_S))
    assert sorted(dump.pid for dump in found if not dump.late) == list(range(40))
    assert max(int(line) for line in seen.read_text().split()) == 16


def test_a_dump_that_met_a_changing_stack_is_tried_again(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    fails = "echo 'Error: Failed to get stack traces' >&2; exit 1"
    script = f"echo >> {tries}; if [ $(wc -l < {tries}) -lt 3 ]; then {fails}; fi; echo '[]'"
    (dump,) = pyspy.dumps([1], lambda pid: ("sh", "-c", script), limit_s=PATIENCE_S)
    assert (dump.pid, dump.error, dump.late) == (1, None, False)


def test_output_that_is_no_dump_is_said_in_one_line() -> None:
    (dump,) = pyspy.dumps([1], lambda pid: ("echo", "hello"), limit_s=PATIENCE_S)
    assert "this hangtop cannot read" in (dump.error or "")


def test_control_codes_in_names_never_reach_the_screen() -> None:
    frame = pyspy.frame(pyspy.SpyFrame("f\x1b[31m", "/a\x07.py", 3, (pyspy.SpyLocal("x", "\x1b]0;title\x07"),)))
    assert (frame.function, frame.file, frame.locals) == ("f", "/a.py", (("x", ""),))


def test_of_the_demo_the_culprit_stands_first(tmp_path: Path) -> None:
    with DemoRun(scenario("hang"), tmp_path) as run:
        eventually(lambda: run.log.read_text().count("step 13/40") == 8, "its last step")
        children = psutil.Process(run.pid).children()
        ranks, others = {int(child.environ()["RANK"]): child.pid for child in children}, (run.pid,)
        hang = [((3,), "waits for a lock in load_shard"), ((0, 1, 2, 4, 5, 6, 7), "in all_reduce")]

        def told() -> list[tuple[tuple[int, ...], str]]:
            found = classes(number(look(*ranks.values()).stacks, ranks))
            return [(stack_class.ranks, stack_class.activity.text) for stack_class in found if stack_class.activity is not None]

        eventually(lambda: told() == hang, "the hang")

        printed: list[str] = []
        assert command.run(ranks, others, wanted=command.StackOptions(again_s=0.5), echo=printed.append) == 0
        assert "1 rank   3  waits for a lock in load_shard" in printed[0]
        assert "unchanged in 2 looks" in printed[0]
        assert "◂ rank 3" in printed[0]
        assert command.run(ranks, others, as_json=True, echo=printed.append) == 0
        answer = msgspec.json.decode(printed[1])
        assert [stack_class["ranks"] for stack_class in answer["classes"]] == [[3], [0, 1, 2, 4, 5, 6, 7]]
        assert answer["classes"][0]["frames"][0]["source"] == "with self._index_lock:"
        assert answer["stopped"] is False


def test_threads_of_like_names_are_told_apart(start: Start) -> None:
    process = start(
        "import threading, time\nlock = threading.Lock(); lock.acquire()\n"
        "threading.Thread(target=time.sleep, args=(600,), name='load-1', daemon=True).start()\n"
        "threading.Thread(target=lock.acquire, name='load-11', daemon=True).start()\n"
        "print('ready', flush=True)\nlock.acquire()\n"
    )

    def told() -> tuple[str, str]:
        printed: list[str] = []
        assert command.run({}, (process.pid,), as_json=True, echo=printed.append) == 0
        (stack_class,) = msgspec.json.decode(printed[0])["others"]
        says = {other["name"]: other["doing"] for other in stack_class["other_threads"]}
        return says["load-1"].partition(" ")[0], says["load-11"].partition(" in ")[0]

    eventually(lambda: told() == ("sleeps", "waits for a lock"), "both threads in their waits")


def test_the_command_says_4_when_nothing_could_be_read(start: Start) -> None:
    process = start(WAITS["sleep"])
    process.kill()
    process.wait()
    printed: list[str] = []
    assert command.run({}, (process.pid,), echo=printed.append) == 4
    assert f"pid {process.pid}: the process is gone" in printed[0]
