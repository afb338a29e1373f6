"""Environment variables that no program reads or that slow a run down; caches and locks."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from hangtop.doctor.check_types import Check, Subject, ok, warn
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
SCRIPT_CHARS = 1 << 20
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
GATED = ("meta-llama/", "google/gemma", "mistralai/", "black-forest-labs/FLUX")
"""Models of these need an account that accepted a licence. Only the name is checked: the hub is not asked."""


def settings(subject: Subject) -> Iterator[Check]:
    """Variables that only a script reads which asks for them itself, with what works instead, and debugging switches that slow
    the run down."""
    known = load().settings
    found = False
    for name in sorted(subject.environ):
        setting = known.get(name)
        if setting is not None and not setting.honoured_by:
            found = True
            yield _unread(subject, setting, known)
        elif name in DEBUG_ONLY and subject.environ[name] not in ("", "0", "OFF", "INFO"):
            found = True
            detail = f"{subject.environ[name]}: {DEBUG_ONLY[name]}; for a test only"
            yield warn("settings", name, detail, f"unset {name}")
    if not found:
        yield ok("settings", "environment", "no variable that is unread or should not stay")


def _unread(subject: Subject, setting: Setting, known: Mapping[str, Setting]) -> Check:
    """Of a variable that neither a library nor a framework reads: whether the program on the command line does."""
    name = setting.name
    if (reader := _reader(subject, name)) is not None:
        return ok("settings", name, f"{subject.environ[name]}: {reader} names it itself; no library reads it")
    limits = _limits(subject.framework, known)
    instead = f"{subject.framework} takes {limits[0].name}, {limits[0].unit}" if limits else ""
    nowhere = "the program on the command line does not name it, so it changes nothing" if _programs(subject) else ""
    return warn("settings", name, "; ".join(filter(None, (f"set. {setting.truth.rstrip('.')}", nowhere))), instead)


def _programs(subject: Subject) -> list[Path]:
    """The scripts that the command line names and that are here."""
    places = [Path(subject.cwd, word) for word in subject.command if word.endswith((".py", ".sh"))]
    return [place for place in places if place.is_file()]


def _reader(subject: Subject, name: str) -> str | None:
    """The first of the command's scripts that names the variable."""
    for place in _programs(subject):
        try:
            with place.open(encoding="utf-8", errors="replace") as script:
                if name in script.read(SCRIPT_CHARS):
                    return place.name
        except OSError:  # `inputs.paths` says what is wrong with it
            continue
    return None


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
