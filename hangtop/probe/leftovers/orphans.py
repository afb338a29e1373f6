"""Training processes that lost their parent, daemons of Ray whose cluster is gone, and zombies that were never reaped. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hangtop.probe.processes.probable_writers import reads_only
from hangtop.probe.ray.local.daemons import LEADING, daemon_of
from hangtop.probe.ray.local.session_files import SESSION_LOG
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.roles import SHELLS, role_by_name
from hangtop.system.processes.table import OpenFile, Stat
from hangtop.system.processes.training_commands import looks_like_training

ADOPTERS = ("systemd", "init", "tini", "dumb-init", "docker-init")
"""Programs that adopt processes that lost their parent, besides pid 1: `systemd --user` does."""
TRAINING_NAMES = ("python", "ray::", "pt_data_", "pt_main_", "VLLM::", "sglang::", "torchrun", "raylet")


def adopted(stats: Mapping[int, Stat], members: Collection[int]) -> list[int]:
    """Processes outside the run that lost their parent."""
    living = [stat for stat in stats.values() if stat.pid not in members and stat.state not in "ZX" and not stat.kernel]
    adopters = {1, *(stat.pid for stat in stats.values() if stat.name in ADOPTERS)}
    return [stat.pid for stat in living if stat.ppid in adopters and stat.pid != 1]


def is_orphan(stat: Stat, facts: ProcessFacts, files: tuple[OpenFile, ...]) -> bool:
    """Whether a process that lost its parent was part of a training run.

    Not a run of its own under `nohup`: it leads its group or session, and no launcher gave it a rank. Not a shell: its children
    are asked themselves. Not a program that only watches runs, such as another hangtop, even with the environment of a rank.
    While a program is being started (execve(2)) it has an environment, but no arguments yet that tell what it is.
    """
    if stat.name in SHELLS or reads_only(facts.command):
        return False
    if stat.name.startswith("pt_data_") or (facts.command and facts.command[0].startswith("ray::")):
        return True
    if facts.command and "RANK" in facts.environ and "WORLD_SIZE" in facts.environ:
        return True
    leads = stat.pid in (stat.group, stat.session)
    holds_gpu = any(file.target.startswith("/dev/nvidia") for file in files)
    trains = looks_like_training([" ".join(facts.command)], [facts.environ])
    return not leads and (holds_gpu or trains)


def unreaped(stats: Mapping[int, Stat], members: Collection[int]) -> list[int]:
    """Zombies of the run, and others with the name of a training process."""
    zombies = [stat for stat in stats.values() if stat.state == "Z"]
    return [stat.pid for stat in zombies if stat.pid in members or stat.ppid in members or stat.name.startswith(TRAINING_NAMES)]


def is_daemon(command: Sequence[str]) -> bool:
    """Whether this is the command line of a daemon of Ray."""
    return bool(command) and (role_by_name("", command) == "ray daemon" or daemon_of(command) is not None)


def lost_daemons(
    daemons: Mapping[int, Sequence[str]], files: Mapping[int, tuple[OpenFile, ...]], commands: Iterable[Sequence[str]]
) -> set[int]:
    """The daemons without a living GCS or raylet. `commands`: of all processes that may be a GCS or raylet.

    The command line and open log of a daemon tell its session; without both it does not count as lost.
    """
    leading = [daemon for words in commands if words and (daemon := daemon_of(words)) and daemon.kind in LEADING]
    folders = {daemon.folder for daemon in leading if daemon.folder}
    placed = {daemon.gcs_address for daemon in leading if daemon.folder}
    elsewhere = {daemon.gcs_address for daemon in leading if not daemon.folder} - placed
    lost = set()
    for pid, words in daemons.items():
        folder, address = _session_of(words, files.get(pid, ()))
        known = folder not in folders and address not in elsewhere if folder else address not in placed | elsewhere
        if (folder or address) and known:
            lost.add(pid)
    return lost


def _session_of(words: Sequence[str], held: Iterable[OpenFile]) -> tuple[str | None, str | None]:
    """The session's folder and the address of its GCS, as far as known; neither for a GCS or raylet itself."""
    daemon = daemon_of(words)
    if daemon is not None and daemon.kind in LEADING:
        return None, None
    inside = (match["folder"] for file in held if file.writable and (match := SESSION_LOG.fullmatch(file.target)))
    folder = daemon.folder if daemon is not None else None
    return folder or next(inside, None), daemon.gcs_address if daemon is not None else None
