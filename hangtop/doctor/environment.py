"""Environment variables that no program reads or that slow a run down; caches and locks; paths on the command line."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from hangtop.doctor.check_types import Check, Subject, fail, ok, warn
from hangtop.logs.catalog.load import load
from hangtop.logs.catalog.signature import Setting

DEBUG_ONLY = {
    "NCCL_P2P_DISABLE": "switches off NVLink and PCIe peer access",
    "NCCL_IB_DISABLE": "sends all traffic over TCP",
    "NCCL_SHM_DISABLE": "switches off shared memory between ranks",
    "CUDA_LAUNCH_BLOCKING": "makes every kernel launch wait",
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL checks every collective",
    "TORCH_NCCL_BLOCKING_WAIT": "blocks the CPU in every collective",
    "NCCL_BLOCKING_WAIT": "is the old name of TORCH_NCCL_BLOCKING_WAIT",
}
"""Good for a test, slow when they stay set (NCCL docs: debugging variables should not be left set)."""
LOCKS = {"dataset locks": "datasets/*.lock", "download locks": "hub/.locks/*/*.lock"}
MOST_LOCKS = 500
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
GATED = ("meta-llama/", "google/gemma", "mistralai/", "black-forest-labs/FLUX")
"""Models of these need an account that accepted a licence. Only the name is checked: the hub is not asked."""
DATA_ENDINGS = (".json", ".jsonl", ".parquet", ".csv", ".yaml", ".yml", ".toml", ".py", ".sh", ".arrow", ".safetensors")


def settings(subject: Subject) -> Iterator[Check]:
    """Variables that no program reads, with what works instead, and debugging switches that slow the run down."""
    known = load().settings
    found = False
    for name in sorted(subject.environ):
        setting = known.get(name)
        if setting is not None and not setting.honoured_by:
            found = True
            detail = f"set, but no program reads it. {setting.truth}"
            limits = _limits(subject.framework, known)
            instead = f"   ({subject.framework}: {limits[0].name}, {limits[0].unit})" if limits else ""
            yield warn("settings", name, detail, f"unset {name}{instead}")
        elif name in DEBUG_ONLY and subject.environ[name] not in ("", "0", "OFF", "INFO"):
            found = True
            detail = f"{subject.environ[name]}: {DEBUG_ONLY[name]}; for a test only"
            yield warn("settings", name, detail, f"unset {name}")
    if not found:
        yield ok("settings", "environment", "no variable that is unread or should not stay")


def timeouts(subject: Subject) -> Iterator[Check]:
    """The setting of the framework that limits the time of a collective."""
    for setting in _limits(subject.framework, load().settings):
        default = setting.default if setting.unit == "timedelta" else f"{setting.default} {setting.unit}"
        yield ok("settings", "group timeout", f"{subject.framework} reads {setting.name}; by default {default}")


def _limits(framework: str | None, known: Mapping[str, Setting]) -> list[Setting]:
    """The settings of a framework that limit a collective; PyTorch's own where it has none."""
    limits = [each for each in known.values() if "timeout" in each.name.lower() and each.default]
    own = [each for each in limits if framework in each.honoured_by]
    return own if own or framework is None else [each for each in limits if each.name == "init_process_group(timeout=)"]


def hub(subject: Subject) -> Iterator[Check]:
    """Offline flags, and locks of dead processes in the dataset cache."""
    on = [name for name in OFFLINE if subject.environ.get(name, "0").lower() in ("1", "true", "yes", "on")]
    if on:
        yield warn("hub", "offline", f"{', '.join(on)}: what is not in the cache cannot be loaded", f"unset {' '.join(on)}")
    else:
        yield ok("hub", "offline", "not set")
    home = Path(subject.environ.get("HF_HOME", str(Path.home() / ".cache" / "huggingface")))
    gated = sorted({word for word in subject.command for name in GATED if name in word and not os.path.exists(word)})
    if gated and "HF_TOKEN" not in subject.environ and not (home / "token").exists():
        yield warn("hub", "gated model", f"{gated[0]} asks for an accepted licence, and there is no token", "hf auth login")
    for title, pattern in LOCKS.items():
        held = [lock for lock in islice(home.glob(pattern), MOST_LOCKS) if _is_held(lock)]
        if held:
            detail = f"{len(held)} held by a living process, {held[0].name} first"
            yield warn("hub", title, detail, f"fuser -v {held[0]}")
        else:
            yield ok("hub", title, "none held")


def _is_held(lock: Path) -> bool:
    """Whether a living process holds the lock: the kernel lets go of those of the dead."""
    try:
        fd = os.open(lock, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def paths(subject: Subject) -> Iterator[Check]:
    """Words of the command line that look like files of this machine, and do not exist."""
    missing = [word for word in map(_path_in, subject.command) if word and not Path(subject.cwd, word).exists()]
    for word in missing[:5]:
        yield fail("command", word, f"no such file or directory (from {subject.cwd})", f"ls -l {Path(subject.cwd, word).parent}")
    if subject.command and not missing:
        yield ok("command", "paths", "all that the command line names are there")


def _path_in(word: str) -> str | None:
    """A path in `--data /x.parquet`, `--data=/x.parquet` or `data.files=/x.parquet`. Files only: a directory may be made."""
    value = word.rpartition("=")[2].strip("'\"[]")
    looks = value.endswith(DATA_ENDINGS) and "://" not in value and not value.startswith("-")
    return value if looks and ("/" in value or value.endswith((".py", ".sh"))) else None
