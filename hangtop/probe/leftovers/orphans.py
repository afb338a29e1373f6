"""Training processes that lost their parent, and zombies that were never reaped. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hangtop.probe.processes.probable_writers import reads_only
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.roles import SHELLS
from hangtop.system.processes.table import OpenFile, Stat
from hangtop.system.processes.training_commands import looks_like_training

ADOPTERS = ("systemd", "init", "tini", "dumb-init", "docker-init")
"""Programs that adopt processes that lost their parent, besides pid 1: `systemd --user` does."""
TRAINING_NAMES = ("python", "ray::", "pt_data_", "pt_main_", "VLLM::", "sglang::", "torchrun", "raylet")


def adopted(stats: Mapping[int, Stat], members: Collection[int]) -> list[int]:
    """Processes outside the run that lost their parent."""
    return [stat.pid for stat in stats.values() if _lost(stats, stat) and stat.pid not in members and stat.state not in "ZX"]


def is_orphan(stat: Stat, facts: ProcessFacts, files: tuple[OpenFile, ...]) -> bool:
    """Whether a process that lost its parent was part of a training run.

    Not a run of its own under `nohup`: it leads its group or session, and no launcher gave it a rank. Not a shell: its children
    are asked themselves. Not a program that only watches runs, such as another hangtop, even with the environment of a rank.
    """
    if stat.name in SHELLS or reads_only(facts.command):
        return False
    if stat.name.startswith("pt_data_") or (facts.command and facts.command[0].startswith("ray::")):
        return True
    if "RANK" in facts.environ and "WORLD_SIZE" in facts.environ:
        return True
    leads = stat.pid in (stat.group, stat.session)
    holds_gpu = any(file.target.startswith("/dev/nvidia") for file in files)
    trains = looks_like_training([" ".join(facts.command)], [facts.environ])
    return not leads and (holds_gpu or trains)


def unreaped(stats: Mapping[int, Stat], members: Collection[int]) -> list[int]:
    """Zombies of the run, and others with the name of a training process."""
    zombies = [stat for stat in stats.values() if stat.state == "Z"]
    return [stat.pid for stat in zombies if stat.pid in members or stat.ppid in members or stat.name.startswith(TRAINING_NAMES)]


def _lost(stats: Mapping[int, Stat], stat: Stat) -> bool:
    if stat.kernel or stat.pid == 1:
        return False
    return stat.ppid == 1 or (stat.ppid in stats and stats[stat.ppid].name in ADOPTERS)
