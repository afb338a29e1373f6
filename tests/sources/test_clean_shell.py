"""`hangtop clean` from the shell, on a machine of its own: namespaces with an empty /dev/shm and /tmp/ray, so nothing real is
touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="needs Linux, root and unshare(1) for namespaces",
)
MACHINE = """
import fcntl, json, mmap, os, subprocess, sys, threading, time
from pathlib import Path
for place in ("/dev/shm", "/tmp/ray"):  # sessions of others are theirs, and not counted here
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
SESSION = "_".join(("session", "2026-01-10", "08-00-00", "123456", "4242"))  # who names it in its command line would hold it
home, shm = Path(os.environ["HOME"]), Path("/dev/shm")
cache, ray = home / ".cache", Path(os.environ["RAY_TMPDIR"]) / "ray"
def file(path, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 8192)
    path.chmod(mode)
    return path
def program(code, *words, **environ):
    child = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, env=dict(os.environ, **environ))
    child.stdout.readline()
    return child
gone = [file(shm / "nccl-AbCd12"), file(shm / "torch_999999_77_0"), file(shm / "plasma-old"), file(shm / "psm_dead"),
        file(ray / SESSION / "logs" / "raylet.out").parents[1], file(cache / "huggingface/datasets/a.lock")]
stays = [file(shm / "nccl-mapped"), file(shm / "torch_999998_1_0"), file(shm / "plasma-mapped"), file(shm / "my_data"),
         file(cache / "huggingface/hub/models--x/blobs/abc"), file(cache / "huggingface/hub/.locks/x.lock"),
         file(cache / "huggingface/datasets/held.lock"), file(cache / "huggingface/datasets/x/data.arrow"),
         file(cache / "vllm/torch_compile_cache/abc/graph.py"), file(cache / "torch/kernels/k.so"), file(home / "precious.txt"),
         file(home / ".triton/cache/k.cubin"), file(shm / "nccl-theirs", 0o666)]
os.chown(shm / "nccl-theirs", 65534, 65534)
(shm / "nccl-link").symlink_to(home / "precious.txt")
(ray / SESSION / "to_home").symlink_to(home)
stays.append(shm / "nccl-link")
mapping = ("import mmap, os, sys, time; f = os.open(sys.argv[1], os.O_RDWR); m = mmap.mmap(f, 0); os.close(f);"
           "print(flush=True); time.sleep(600)")
holders = [program(mapping, str(stays[n])) for n in (0, 1, 2)]
lock = open(cache / "huggingface/datasets/held.lock")
fcntl.flock(lock, fcntl.LOCK_EX)
orphan = ("import subprocess, sys; sleep = 'import time; time.sleep(600)';"
          "print(subprocess.Popen([sys.executable, '-c', sleep, *sys.argv[1:]]).pid, flush=True)")
def lost(*words, **environ):
    child = subprocess.Popen([sys.executable, "-c", orphan, *words], stdout=subprocess.PIPE, env=dict(os.environ, **environ))
    pid = int(child.stdout.readline())
    child.wait()
    return pid
worker = lost("train.py", RANK="0", WORLD_SIZE="2")
monitor = lost("my_monitor.py", "--log", "train.log")
time.sleep(7)
young = file(shm / "nccl-young")
stays.append(young)
def use():  # all the time: a busy machine may take longer for one look than what is young
    while True:
        os.utime(young)
        time.sleep(0.2)
threading.Thread(target=use, daemon=True).start()
def clean(*words):
    done = subprocess.run([sys.executable, "-m", "hangtop", "clean", "--older", "0.1", *words], capture_output=True, text=True)
    return [done.returncode, done.stdout + done.stderr]
def lives(pid):
    return Path(f"/proc/{pid}").exists() and ") Z " not in Path(f"/proc/{pid}/stat").read_text()
shown = clean("--dry-run")
before = [path.exists() for path in gone]
done = clean("--yes")
there = lambda paths: [str(path) for path in paths if os.path.lexists(path)]
again = clean("--older", "10")
print(json.dumps(dict(shown=shown, done=done, again=again, before=before, worker=lives(worker), monitor=lives(monitor),
      pids=[worker, monitor], left=there(gone), lost=len(stays) - len(there(stays)), rays=ray.exists())))
"""


def test_leftovers_go_and_nothing_else_does(tmp_path: Path) -> None:
    """Segments of torch, NCCL and plasma, a session, a lock, an orphan; nothing held, young, another's, no cache, no link."""
    home, ray = tmp_path / "home", tmp_path / "ray"
    home.mkdir()
    ray.mkdir()
    Path("/tmp/ray").mkdir(mode=0o777, exist_ok=True)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_", "RAY_"))}
    environ = {**plain, "HOME": str(home), "RAY_TMPDIR": str(ray)}
    namespaces = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
    told = subprocess.run(
        [*namespaces, sys.executable, "-c", MACHINE], env=environ, capture_output=True, text=True, check=False, timeout=400
    )
    assert told.returncode == 0, told.stderr
    seen = json.loads(told.stdout)
    (shown_code, shown), (done_code, done), (again_code, again) = seen["shown"], seen["done"], seen["again"]
    assert shown_code == 0
    assert "Clean leftovers of dead runs: 1 process, 6 paths" in shown, shown
    assert "nothing was done" in shown
    assert all(seen["before"])
    assert done_code == 0, done
    assert seen["left"] == []
    assert seen["lost"] == 0
    assert seen["rays"]
    assert (seen["worker"], seen["monitor"]) == (False, True)
    assert f"pid {seen['pids'][0]} rank 0 ended" in done
    assert "6 of 6 paths removed" in done
    for reason in ("in use by pid", "used "):
        assert reason in shown, reason
    assert again_code == 0
    assert "nothing left over" in again
