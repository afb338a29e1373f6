"""What the user asked to watch: the command line and config file as one value, which is sent to the probe."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct, field

DEFAULT_STALL_S = 120.0
DEFAULT_SOURCES = ("log", "procs", "gpu", "ray", "stacks", "waits", "nccl", "torchdebug", "checkpoints", "host")
"""What `--sources` may name. The probe runs those that this hangtop has."""
ASKED_SOURCES = ("pages", "rayworkers", "leftovers", "launch", "inspect")
"""Sources that only answer questions: always there, never named."""


class KeptPipe(Struct, frozen=True, omit_defaults=True):
    """Stdin, which a drain reads (`hangtop.probe.log.drain`). `memory`: descriptor of the file that holds its last bytes. `name`:
    the name of the pipe in /proc (`pipe:[4711]`)."""

    memory: int
    name: str = ""


class WatchSpec(Struct, frozen=True, omit_defaults=True):
    """`logs` are paths, globs, directories or `-` as typed. `stall_s` also scales the ceilings of stages
    (`hangtop.diagnosis.facts.silence_limits`).

    `hosts`: other nodes of the run, each reached by `launcher` (`hangtop.probe.nodes.launchers`); the first is node 1.
    `torch_debug`: `HOST:PORT` of the front end of PyTorch's debug server. `config_file`: the config that was
    named instead of the usual one. `lang`: the language of causes and fixes, `en` or `zh`."""

    logs: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    profile: str | None = None
    stall_s: float = field(default_factory=lambda: DEFAULT_STALL_S)  # so a recording holds it, even where it is the default
    sources: tuple[str, ...] = DEFAULT_SOURCES
    ray: str = "auto"
    checkpoint_dir: str | None = None
    config_dir: str | None = None
    config_file: str | None = None
    lang: str = "en"
    stdin: KeptPipe | None = None
    hosts: tuple[str, ...] = ()
    launcher: str = ""
    torch_debug: str = ""


def no_path(text: str) -> str:
    """Why no file can have this path; empty if one can."""
    if not text:
        return "no name"
    try:
        return "no path holds a NUL" if b"\0" in os.fsencode(text) else ""
    except UnicodeEncodeError:
        return "no path holds half a character"


def plain_file(logs: Sequence[str]) -> str | None:
    """The log, if it is a single path and neither a pattern nor stdin: a file that takes the output of a run."""
    return logs[0] if len(logs) == 1 and logs[0] != "-" and not set("*?[").intersection(logs[0]) else None


def as_options(spec: WatchSpec) -> tuple[str, ...]:
    """The options that make another hangtop watch the same run."""
    words = [word for log in spec.logs for word in ("--log", log)]
    words += [word for pid in spec.pids for word in ("--pid", str(pid))]
    words += ["--profile", spec.profile] if spec.profile else []
    words += ["--stall", str(spec.stall_s), "--ray", spec.ray]
    words += ["--sources", ",".join(name for name in spec.sources if name not in ASKED_SOURCES)]
    words += ["--ckpt", spec.checkpoint_dir] if spec.checkpoint_dir else []
    words += ["--hosts", ",".join(spec.hosts)] if spec.hosts else []
    words += ["--launcher", spec.launcher] if spec.launcher else []
    words += ["--torch-debug", spec.torch_debug] if spec.torch_debug else []
    words += ["--config", spec.config_file] if spec.config_file else []
    return tuple(words)
