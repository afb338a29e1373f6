"""The control groups of a process, of both versions: where they lie, and what their files say (cgroups(7))."""

from __future__ import annotations

from pathlib import Path

from hangtop.system.processes.proc_files import read_text

CGROUPS = Path("/sys/fs/cgroup")


def group_paths(text: str) -> dict[str, str]:
    """Of `/proc/PID/cgroup`: the path of its group for each controller of version 1; that of version 2 has no name."""
    lines = (line.split(":", 2) for line in text.splitlines())
    return {name: path for _, names, path in (line for line in lines if len(line) == 3) for name in names.split(",")}


def group_folders(text: str, controller: str, root: Path = CGROUPS) -> list[Path]:
    """The folder of its group with this controller, and those above it up to the root; that of version 2 where version 1 does not
    have it. None where it is in no such group. A container sees its own group as the root."""
    paths = group_paths(text)
    name = controller if controller in paths else ""
    if name not in paths:
        return []
    base = root / name if name else root / "unified" if (root / "unified").is_dir() else root
    own = base / paths[name].lstrip("/")
    chain = [own, *own.parents]
    return chain[: chain.index(base) + 1] if base in chain else [base]


def whole(path: Path) -> int | None:
    """The number in a file; `None` for a word such as `max`, or none."""
    text = read_text(path)
    return int(text) if text.isdecimal() else None


def counts(path: Path) -> dict[str, int]:
    """The lines `name number` of a file."""
    pairs = (line.split() for line in read_text(path).splitlines())
    return {words[0]: int(words[1]) for words in pairs if len(words) == 2 and words[1].isdecimal()}
