"""Rooms: namespaces in which a test may start, stop and remove what it likes, for nothing outside can be seen from within.

A room has its own processes, mounts, shared memory and network. `/tmp` and `/dev/shm` are empty file systems, but for what Python
and the project need to be found there; so are folders above them that only root may enter. Two users have names.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NEEDED = (ROOT, Path(sys.prefix), Path(sys.base_prefix))
NAMESPACES = ("unshare", "--pid", "--mount", "--ipc", "--net", "--uts", "--fork", "--kill-child", "--mount-proc")
USERS = {"root": 0, "ada": 23001, "bob": 23002}
"""Who is in a room. Ada watches her run; what is Bob's is another user's."""
FIRST_PID = 700_000
"""Six digits, so that a number in a text that is equal to a pid is that pid."""
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


@cache
def missing() -> str | None:
    """Why no room can be made here; `None` when one can."""
    if not sys.platform.startswith("linux"):
        return "rooms are made of Linux namespaces"
    if os.geteuid() != 0:
        return "needs root, for namespaces and a second user"
    if shutil.which("unshare") is None:
        return "needs unshare(1), for namespaces"
    tried = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"no namespaces here: {tried.stderr.strip()[:200]}"


def entered(module: str, *words: str) -> subprocess.Popen[str]:
    """`python -m MODULE WORDS` in a new room; all that is in it ends with it."""
    inside = [sys.executable, "-m", "tests.scenarios.ownership.rooms", module, *words]
    return subprocess.Popen([*NAMESPACES, *inside], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)


def furnish() -> None:
    """Make the namespaces, just entered, a room."""
    _mount("--make-rprivate", "/")
    above = {folder for path in NEEDED for folder in path.resolve().parents if not folder.stat().st_mode & 0o001}
    tops = {folder for folder in above if not above & set(folder.parents)}
    for folder in {Path("/tmp"), Path("/dev/shm"), *tops}:
        _empty(folder, [path.resolve() for path in NEEDED], 0o755 if folder in tops else 0o1777)
    names = "".join(f"{name}:x:{uid}:{uid}::/tmp/home/{name}:/bin/bash\n" for name, uid in USERS.items())
    Path("/tmp/passwd").write_text(names + Path("/etc/passwd").read_text().partition("\n")[2])
    _mount("--bind", "/tmp/passwd", "/etc/passwd")
    for name, uid in USERS.items():
        home = Path("/tmp/home", name)
        home.mkdir(parents=True)
        os.chown(home, uid, uid)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, asked))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
    Path("/proc/sys/kernel/pid_max").write_text("4194304")
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(FIRST_PID))


def environ_of(user: str) -> dict[str, str]:
    """The environment of a shell of this user."""
    home = f"/tmp/home/{user}"
    path = f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    own = {"HOME": home, "USER": user, "LOGNAME": user, "PATH": path, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "TZ": "UTC"}
    quiet = {"TERM": "xterm-256color", "SHELL": "/bin/bash", "RAY_USAGE_STATS_ENABLED": "0", "RAY_enable_metrics_collection": "0"}
    return own | quiet | {"PYTHONDONTWRITEBYTECODE": "1"}


def as_user(user: str) -> dict[str, object]:
    """Options of `subprocess` for a process of this user."""
    uid = USERS[user]
    return {"user": uid, "group": uid, "extra_groups": [], "env": environ_of(user)} if uid else {"env": environ_of(user)}


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _empty(folder: Path, needed: Sequence[Path], mode: int) -> None:
    """An empty file system at `folder`, in which those paths are still where they were."""
    below = [path for path in needed if folder in path.parents]
    stage = Path(tempfile.mkdtemp(prefix="room-", dir="/mnt"))
    _mount("-t", "tmpfs", "-o", f"mode={mode:o}", "none", str(stage))
    for path in below:
        place = stage / path.relative_to(folder)
        place.mkdir(parents=True, exist_ok=True)
        _mount("--rbind", str(path), str(place))
    _mount("--move", str(stage), str(folder))
    stage.rmdir()


def main(module: str, *words: str) -> int:
    """Be the first process of a room, as init is: whoever loses its parent gets this one, which reaps it."""
    furnish()
    assert pwd.getpwuid(USERS["ada"]).pw_name == "ada"
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", module, *words], environ_of("root"))
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status) % 256


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the room ends with the process that made it
    sys.exit(main(*sys.argv[1:]))
