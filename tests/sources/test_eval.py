"""Real processes that are asked while they sleep, compute, hold Python's lock, are dead-locked, stopped or gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from hangtop.system.agents.agent_client import NoAnswerError, agent_path, ask_agent
from hangtop.system.agents.answerable import answerable
from hangtop.system.agents.probing_client import ask_probing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the agent is found by /proc")

Start = Callable[[str], subprocess.Popen[str]]
SLEEPS = "import time; value = 41; print('there', flush=True); time.sleep(600)"
COMPUTES = "print('there', flush=True)\nwhile True: sum(range(1000))"
DEAD_LOCKED = "import threading; lock = threading.Lock(); lock.acquire(); print('there', flush=True); lock.acquire()"
HOLDS_THE_LOCK = "import ctypes; print('there', flush=True); ctypes.PyDLL(None).sleep(600)"
WAITS_FOR_DATA = """
import time, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, at):
        if at == 8: print('there', flush=True); time.sleep(600)
        return torch.ones(4), torch.ones(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.25)
for data, wanted in torch.utils.data.DataLoader(Data(), batch_size=4):
    (model(data) - wanted).square().sum().backward(); optimizer.step()
"""

LOADS = """
import sys, torch
found = torch.load(sys.argv[1], weights_only=True)
model = torch.nn.Linear(4, 1)
model.load_state_dict(found["models"][0]["weights"])
optimizer = torch.optim.AdamW(model.parameters())
optimizer.load_state_dict(found["optimizers"][0]["state"])
print(model.weight.tolist(), optimizer.param_groups[0]["lr"])
"""


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(program: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", f"import hangtop.agent\n{program}"], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def ask(process: subprocess.Popen[str], code: str, limit_s: float = 60.0, **arguments: str):
    return ask_agent(process.pid, answerable(process.pid).start_ticks, code, arguments, limit_s)


@pytest.mark.parametrize("program", [SLEEPS, COMPUTES, DEAD_LOCKED])
def test_a_process_answers_whatever_its_own_threads_do(start: Start, program: str):
    process = start(program)
    assert ask(process, "import os; os.getpid()").output == f"{process.pid}\n"
    assert process.poll() is None


def test_the_socket_is_its_users_alone(start: Start):
    path = Path(agent_path(start(SLEEPS).pid) or "")
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_one_that_holds_pythons_lock_gives_no_answer_and_never_begins(start: Start):
    process = start(HOLDS_THE_LOCK)
    ends_at = time.monotonic() + 60.0
    with pytest.raises(NoAnswerError, match="holds Python's lock"):  # at first it may be on its way into the C code
        list(iter(lambda: ask(process, "1", limit_s=0.5) if time.monotonic() < ends_at else None, None))
    assert process.poll() is None


def test_a_stopped_one_is_refused_with_what_lets_it_go_on(start: Start):
    process = start(SLEEPS)
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    found = answerable(process.pid)
    assert "is stopped" in found.why_not
    assert found.mend == f"kill -CONT {process.pid}"
    with pytest.raises(NoAnswerError, match="it is stopped"):
        ask_agent(process.pid, found.start_ticks, "1", {}, 0.3)


def test_another_process_at_its_socket_is_asked_nothing(start: Start):
    process = start(SLEEPS)
    path = agent_path(process.pid)
    assert path is not None
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen(1)
        with pytest.raises(NoAnswerError, match="another process answers"):
            ask(process, "1")
        accepted, _ = other.accept()
        with accepted:
            assert accepted.recv(100) == b""
    os.unlink(path)


def test_where_nobody_can_be_asked_the_run_goes_on(tmp_path: Path):
    tmp_path.chmod(0o777)  # anybody may put a socket there
    program = f"from hangtop.system.agents import endpoint\nendpoint.folder_of = lambda uid: {str(tmp_path)!r}\n"
    program += "import hangtop.agent; print('trains')"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "trains\n"
    assert run.stderr.startswith("hangtop.agent: this process cannot be asked: ")
    assert run.stderr.count("\n") == 1


def test_one_that_never_agreed_and_one_that_is_gone_are_refused():
    with subprocess.Popen(["sleep", "600"]) as process:
        assert "has not run `import hangtop.agent`" in answerable(process.pid).why_not
        process.kill()
    assert "is gone" in answerable(process.pid).why_not


def test_a_child_is_asked_by_itself_and_the_dead_leave_no_socket(start: Start):
    process = start("import os, time\nif os.fork() == 0: print('there', flush=True); time.sleep(600)\ntime.sleep(600)")
    child = int(ask(process, "import os; open(f'/proc/self/task/{os.getpid()}/children').read()").output.strip("' \n"))
    assert ask_agent(child, answerable(child).start_ticks, "import os; os.getpid()", {}, 60.0).output == f"{child}\n"
    path = agent_path(child)
    assert path is not None
    os.kill(child, signal.SIGKILL)
    ask(process, "import os; os.wait()")
    start(SLEEPS)
    assert not os.path.exists(path)


RUNS_WHAT_IT_IS_SENT = """
import os, socket, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
class Server(HTTPServer):
    address_family = socket.AF_UNIX
    def server_bind(self): self.socket.bind(self.server_address)
class Runs(BaseHTTPRequestHandler):
    def do_POST(self):
        eval(self.rfile.read(int(self.headers['content-length'])).decode())
        self.wfile.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n')
    def address_string(self): return ''
    def log_message(self, *words): pass
value = 41
server = Server(f'\\0probing-{os.getpid()}', Runs)
print('there', flush=True)
server.serve_forever()
"""


def test_one_that_runs_with_probing_answers_us_and_not_its_own_log():
    with subprocess.Popen([sys.executable, "-c", RUNS_WHAT_IT_IS_SENT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        found = answerable(process.pid)
        assert (found.why_not, found.way) == ("", "probing")
        assert ask_probing(process.pid, found.start_ticks, "print(value); value + 1", {}, 60.0).output == "41\n42\n"
        with pytest.raises(NoAnswerError, match="another process answers"):
            ask_probing(process.pid, found.start_ticks + 1, "value", {}, 60.0)
        process.kill()
        assert process.stdout.read() == ""


def hangtop(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hangtop", *words], capture_output=True, text=True, timeout=120, input="", check=False
    )


def test_the_command_shows_the_code_and_runs_nothing_unasked(start: Start):
    process = start(SLEEPS)
    shown = hangtop("eval", "--pid", str(process.pid), "value")
    assert (shown.returncode, shown.stdout) == (4, "")
    assert "nothing was run: --yes runs it" in shown.stderr
    assert hangtop("eval", "--pid", str(process.pid), "value + 1", "--yes").stdout == "42\n"


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_the_weights_of_a_run_that_waits_for_data_are_saved_and_loaded_again(start: Start, tmp_path: Path):
    process, path = start(WAITS_FOR_DATA), tmp_path / "rescue.pt"
    saved = hangtop("eval", "--pid", str(process.pid), "--ask", "checkpoint", "--set", f"path={path}", "--within", "60", "--yes")
    assert saved.returncode == 0, saved.stderr
    loaded = subprocess.run([sys.executable, "-c", LOADS, path], capture_output=True, text=True, timeout=120, check=True)
    assert loaded.stdout == ask(process, "print(model.weight.tolist(), optimizer.param_groups[0]['lr'])").output
    assert process.poll() is None
