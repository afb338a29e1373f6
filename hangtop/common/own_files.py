"""The user's own files in a folder of settings or records."""

from __future__ import annotations

from pathlib import Path


def own_files(folder: Path, ending: str) -> list[Path]:
    """In order of name; none where there is no such folder, or it is another user's (`sudo -u` and `su` may keep HOME)."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(ending))
    except OSError:
        return []
