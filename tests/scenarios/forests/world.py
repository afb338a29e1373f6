"""Pid 1 of a forest, in a pid namespace of its own: plants it, lets hangtop stop the run, and scores what became of everybody.

`python -m tests.scenarios.forests.world SEED FOLDER` prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.scenarios.forests.forest import NAMES, Forest

UP_S, GONE_S = 60.0, 1.0
KEPT: list[subprocess.Popen[bytes]] = []
"""What must not be closed: the end of a terminal hangs up on its shell."""
NAMED = re.compile(r"pid (\d+)")
RESTARTER = re.compile(r": pid (\d+) \(.*?\) restarts it; stop that first")
"""A line that names a survivor may name the process that starts it again beside it."""


def main() -> None:
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])
    forest = Forest(seed)
    plant(forest, folder)
    registry = folder / "registry"
    dry = asked(folder, "plan")
    before = Registry(registry)
    hits_of_plan = before.count("hit")
    done = asked(folder, "stop")
    time.sleep(GONE_S)
    reap()
    print(json.dumps({"seed": seed, "nodes": len(forest.nodes), **score(before, Registry(registry), dry, done, hits_of_plan)}))


def plant(forest: Forest, folder: Path) -> None:
    """All of it is up, with its ways of taking a signal, before this returns."""
    folder.chmod(0o777)
    (folder / "nodes.json").write_text(json.dumps(forest.nodes))
    for name in ("registry", "train.log", "train2.log"):
        (folder / name).touch()
        (folder / name).chmod(0o666)
    for name in NAMES:
        shutil.copy(Path(__file__).with_name("node.py"), folder / name)
    os.environ["FOREST"] = str(folder)
    for number in forest.tops:
        node = forest.nodes[number]
        argv = [sys.executable, "-I", "-S", str(folder / node["program"]), *node["words"], f"@{number}"]
        if node["user"]:
            argv = ["/bin/sh", "-c", "while :; do sleep 600 & wait; done"]
        output = open(folder / node["output"], "ab") if node["output"] else subprocess.DEVNULL  # noqa: SIM115
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd=folder,
            env={**os.environ, **node["environ"]}, user=node["user"], group=node["user"],
        )  # fmt: skip
        note(folder / "registry", node["kind"], number, child.pid)
        if node["user"]:
            note(folder / "registry", "up", number, child.pid)
    if forest.terminal:
        type_in(forest, folder)
    until = time.monotonic() + UP_S
    while len(Registry(folder / "registry").numbers("up")) < len(forest.nodes):
        if time.monotonic() > until:
            missing = {str(node["number"]) for node in forest.nodes} - Registry(folder / "registry").numbers("up")
            raise SystemExit(f"nodes {sorted(missing)} did not come up")
        reap()
        time.sleep(0.05)


def type_in(forest: Forest, folder: Path) -> None:
    """A person's shell, an editor in it, and its jobs."""
    log = folder / "train.log"
    keeper = subprocess.Popen(
        ["script", "-qf", str(log) if forest.terminal == "script" else "/dev/null"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=folder,
        env={**os.environ, "SHELL": "/bin/bash", "HOME": str(folder), "PS1": "$ "},
    )  # fmt: skip
    note(folder / "registry", "innocent", -1, keeper.pid)
    (folder / "vim").symlink_to("/bin/sleep")
    lines = [f"echo $$ > {folder}/shell"]
    if forest.terminal == "tee":
        lines.append(f"exec > >(tee -a {log}) 2>&1")
    lines.append(f"{folder}/vim 600 & echo $! > {folder}/editor")
    for number in forest.typed:
        node = forest.nodes[number]
        place = " ".join(f"{name}={value}" for name, value in {"TYPED": "1", **node["environ"]}.items())
        words = " ".join([sys.executable, "-I", "-S", str(folder / node["program"]), *node["words"], f"@{number}"])
        goes = f">> {folder / node['output']} 2>&1" if node["output"] else f"2>&1 | tee -a {log}" if node["relay"] else ""
        lines.append(f"{place} {words} {goes} &")
    assert keeper.stdin is not None
    keeper.stdin.write("".join(f"{line}\n" for line in lines).encode())
    keeper.stdin.flush()
    KEPT.append(keeper)
    for name in ("shell", "editor"):
        while not (folder / name).exists() or not (folder / name).read_text().strip():
            time.sleep(0.02)
        note(folder / "registry", "innocent", -1, int((folder / name).read_text()))


def asked(folder: Path, word: str) -> dict[str, Any]:
    """What the stopper told, while the orphans of the forest are reaped."""
    command = [sys.executable, "-m", "tests.scenarios.forests.stopper", str(folder / "train.log"), word]
    answer = folder / f"{word}.json"
    pid = os.spawnve(
        os.P_NOWAIT, sys.executable, [*command, str(answer)], {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    )
    while pid not in reap():
        time.sleep(0.02)
    told: dict[str, Any] = json.loads(answer.read_text())
    return told


def reap() -> set[int]:
    """The children of pid 1 that ended, adopted ones too."""
    ended: set[int] = set()
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.add(pid)


def note(registry: Path, kind: str, number: int, pid: int) -> None:
    with registry.open("a") as out:
        out.write(f"{kind} {number} {pid} {start_of(pid)}\n")


def start_of(pid: int) -> str | None:
    """Its start time while it lives; `None` of a zombie and of none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" and int(fields[17]) < 2 else fields[19]


class Registry:
    """(kind, number, pid, start) of everybody that was started, as they wrote it down."""

    def __init__(self, path: Path) -> None:
        self.rows = [line.split() for line in path.read_text().splitlines()]
        self.kinds: dict[tuple[str, str], set[str]] = {}
        for kind, _, pid, start in self.rows:
            self.kinds.setdefault((pid, start), set()).add(kind)

    def count(self, kind: str) -> int:
        return sum(row[0] == kind for row in self.rows)

    def numbers(self, kind: str) -> set[str]:
        return {row[1] for row in self.rows if row[0] == kind}

    def of(self, *kinds: str) -> set[tuple[str, str]]:
        return {identity for identity, known in self.kinds.items() if known & set(kinds)}

    def alive(self, *kinds: str) -> set[tuple[str, str]]:
        return {(pid, start) for pid, start in self.of(*kinds) if start_of(int(pid)) == start}


def started_by(proof: str) -> str | None:
    """The parent that a proof names. Who was ended before it could write itself down is known by that alone."""
    found = re.search(r"\(pid (\d+) started it\)", proof)
    return found[1] if found else None


def score(before: Registry, after: Registry, dry: dict[str, Any], done: dict[str, Any], hits_of_plan: int) -> dict[str, Any]:
    """Numbers that must be 0 carry `bad_` in their name."""
    innocents, ours = after.of("innocent", "brief", "relay", "respawned", "foreign"), after.of("member", "born")
    signalled = {(str(step["pid"]), str(step["start_ticks"])) for step in done["steps"] if "SIG" in step["text"][:4]}
    proofs = {str(step["pid"]): step["text"] for step in done["steps"] if "came meanwhile" in step["text"]}
    nameless = {identity for identity in signalled if after.kinds.get(identity, set()) <= {"up"}}
    ours |= {identity for identity in nameless if started_by(proofs.get(identity[0], "")) in {pid for pid, _ in ours}}
    named = {found[1] for step in done["steps"] if step["kind"] == "survived" and (found := NAMED.match(step["text"]))}
    restarters = {found[1] for step in done["steps"] if step["kind"] == "survived" and (found := RESTARTER.search(step["text"]))}
    planned = {(str(pid), str(start)) for pid, start in dry["targets"]}
    lasting = after.of("innocent", "foreign") - after.of("brief")
    dead = {identity for identity in lasting if start_of(int(identity[0])) != identity[1]}
    left = after.alive("member", "born", "respawned")
    early = {identity for identity in left if int(identity[1]) <= done["ended_ticks"] and not done["refused"]}
    said_done = any(step["kind"] == "proof" and "gone" in step["text"] for step in done["steps"])
    return {
        "members": len(before.of("member")), "innocents": len(innocents), "born": len(after.of("born", "respawned")),
        "ended_by_us": len(signalled & after.of("born")), "left": len(left),
        "innocents_named": sorted(named & {pid for pid, _ in innocents - after.of("foreign", "respawned")}),
        "refused": dry["refused"], "refused_then": done["refused"],
        "said": [step["text"] for step in done["steps"] if step["kind"] == "survived"],
        "bad_signals_of_plan": hits_of_plan,
        "bad_signals": [
            [*identity, *sorted(after.kinds.get(identity, ())), proofs.get(identity[0])] for identity in sorted(signalled - ours)
        ],
        "bad_hits": sorted(dead) + [row for row in after.rows if row[0] == "hit"],
        "bad_missed": sorted(before.alive("member") - planned) if not dry["refused"] and not said_done else [],
        "bad_unnamed": sorted(identity for identity in early if identity[0] not in named | restarters),
        "bad_silent": sorted(left) if said_done and early else [],
    }  # fmt: skip


if __name__ == "__main__":
    main()
