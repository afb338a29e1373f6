"""Hosts: processes with namespaces of their own for network, processes, names, memory and mounts, each with a real sshd."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hosts.addresses import address_of, name_of

ROOT = Path(__file__).parents[2]
SPACES = ("unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child")
BEGINS = """
hostname {name}
mount -t tmpfs tmpfs /dev/shm && chmod 1777 /dev/shm
mount -t tmpfs tmpfs /run && mkdir -p /run/sshd /run/shared && mount --bind {folder} /run/shared
mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp && mkdir -p {folder} && mount --bind /run/shared {folder}
for file in passwd group hosts; do mount --bind {folder}/$file /etc/$file; done
exec {sshd} -D -e -f {folder}/sshd_config
"""
SSHD = """
ListenAddress 0.0.0.0
Port 22
HostKey {folder}/host_key
PidFile none
UsePAM no
PermitRootLogin yes
StrictModes no
AuthorizedKeysFile {folder}/home/.ssh/key.pub
MaxStartups 100
AcceptEnv *
"""
SSH = """
Host n*
  IdentityFile {folder}/home/.ssh/key
  UserKnownHostsFile {folder}/home/.ssh/known_hosts
  ServerAliveInterval 5
  ServerAliveCountMax 2
"""
OPEN_S = 20.0


def missing() -> str | None:
    """Why there are no hosts here."""
    if os.geteuid():
        return "needs root: sshd gives up its rights"
    if not os.path.exists("/dev/net/tun"):
        return "needs /dev/net/tun"
    if sshd() is None or shutil.which("ssh") is None:
        return "needs sshd and ssh (or SSHD=PATH)"
    if subprocess.run((*SPACES, "true"), capture_output=True, check=False).returncode:
        return "needs namespaces (unshare)"
    return None


def sshd() -> str | None:
    return os.environ.get("SSHD") or shutil.which("sshd") or (found if os.path.exists(found := "/usr/sbin/sshd") else None)


class Hosts:
    """n1, n2, … The same folder is at the same place on all of them, as on a cluster; /tmp and /dev/shm are their own."""

    def __init__(self, count: int, folder: Path) -> None:
        self.folder, self.count = folder, count
        self._prepare()
        self._outside: list[subprocess.Popen[bytes]] = []
        self.inside: dict[int, int] = {}
        """By number, the pid of its first process, as it is known outside."""
        for number in range(1, count + 1):
            self._begin(number)
        words = (sys.executable, "-m", "tests.hosts.link", *map(str, self.inside.values()))
        self._wire = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def _prepare(self) -> None:
        keys = self.folder / "home/.ssh"
        keys.mkdir(parents=True)
        for key in (keys / "key", self.folder / "host_key"):
            subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)), check=True)
        words = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        numbers = range(1, self.count + 1)
        (keys / "known_hosts").write_text("".join(f"{name_of(each)},{address_of(each)} {words}\n" for each in numbers))
        (keys / "config").write_text(SSH.format(folder=self.folder))
        (self.folder / "sshd_config").write_text(SSHD.format(folder=self.folder))
        others = [line for line in Path("/etc/passwd").read_text().splitlines() if not line.startswith(("root:", "sshd:"))]
        mine = [f"root:x:0:0::{self.folder}/home:/bin/bash", "sshd:x:4022:65534::/run/sshd:/usr/sbin/nologin"]
        (self.folder / "passwd").write_text("\n".join([*mine, *others]) + "\n")
        shutil.copy("/etc/group", self.folder / "group")
        names = [f"{address_of(each)} {name_of(each)}" for each in numbers]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names]) + "\n")

    def _begin(self, number: int) -> None:
        begins = BEGINS.format(name=name_of(number), folder=self.folder, sshd=sshd())
        with (self.folder / f"{name_of(number)}.sshd.log").open("ab") as log:
            outside = subprocess.Popen((*SPACES, "sh", "-ec", begins), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._outside.append(outside)
        until = time.monotonic() + OPEN_S
        while time.monotonic() < until:
            below = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()
            if below and Path(f"/proc/{below[0]}/comm").read_text() == "sshd\n":
                self.inside[number] = int(below[0])
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / f"{name_of(number)}.sshd.log").read_text())

    def _read(self) -> dict[str, int]:
        assert self._wire.stdout is not None
        told: dict[str, int] = json.loads(self._wire.stdout.readline())
        return told

    def weather(self, *hosts: int, **what: float | bool) -> dict[int, int]:
        """Of the wires to these hosts: see `Weather`; none of its words is fine weather. Returns the bytes carried so far."""
        assert self._wire.stdin is not None
        self._wire.stdin.write(json.dumps({"hosts": hosts, **what}) + "\n")
        self._wire.stdin.flush()
        return {int(number): size for number, size in self._read().items()}

    def on(self, number: int, *words: str) -> tuple[str, ...]:
        """The command line that runs these words there."""
        into = ("nsenter", "--target", str(self.inside[number]), "--net", "--uts", "--ipc", "--pid", "--mount")
        clean = (
            "env",
            "-i",
            f"HOME={self.folder}/home",
            f"PATH={os.environ['PATH']}",
            "LANG=C.UTF-8",
            "TERM=xterm-256color",
            "USER=root",
        )
        return (*into, *clean, *words)

    def close(self) -> None:
        self._wire.kill()
        self._wire.wait()
        for outside in self._outside:
            outside.kill()
            outside.wait()


@contextmanager
def hosts(count: int, folder: Path) -> Iterator[Hosts]:
    made = Hosts(count, folder)
    try:
        yield made
    finally:
        made.close()
