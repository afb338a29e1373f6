"""Where a run keeps its checkpoints: by its command line, its open files, or the folders below its working folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from hangtop.system.processes.table import OpenFile

OPTIONS = frozenset(
    "checkpoint_dir checkpoint_path checkpoints_dir ckpt_dir ckpt_path save_dir save_path save save_folder output_dir output "
    "default_local_dir trainer.default_local_dir trainer.output_dir exp_manager.exp_dir default_root_dir".split()
)
"""Names of the option in Megatron, DeepSpeed, HF, verl, OpenRLHF, NeMo and Lightning, dashes read as underscores."""
DATA = re.compile(r"\.(?:pt|pth|ckpt|bin|safetensors|distcp|tmp)$|/(?:global_step|checkpoint|iter_|epoch)[^/]*/", re.IGNORECASE)
STEP_DIR = re.compile(r"^(?:global_step|checkpoint-|iter_|step|epoch)[-_=]?\d+$", re.IGNORECASE)
KEEPS = re.compile(r"^(?:checkpoints?|ckpts?|saved_models?|weights)$|[-_](?:checkpoints?|ckpts?)$", re.IGNORECASE)
DEPTH, MOST_DIRS = 3, 500


def in_command(words: Sequence[str], cwd: str) -> str | None:
    """The directory that an option names: `--save DIR`, `--save=DIR` or `trainer.default_local_dir=DIR`."""
    for index, word in enumerate(words):
        name, sign, value = word.lstrip("-+").partition("=")
        if name.replace("-", "_") not in OPTIONS:
            continue
        if not sign and word.startswith("--") and index + 1 < len(words):
            value = words[index + 1]
        if value and not value.startswith("-"):
            return os.path.normpath(os.path.join(cwd, value))
    return None


def in_files(files: Iterable[OpenFile]) -> str | None:
    """The directory of a checkpoint that is being written, above directories of single steps."""
    for file in files:
        plain = file.target.startswith("/") and not file.target.startswith(("/dev/", "/proc/"))
        if file.writable and plain and DATA.search(file.target):
            parent = os.path.dirname(file.target)
            while STEP_DIR.match(os.path.basename(parent)):
                parent = os.path.dirname(parent)
            return parent
    return None


def below(cwd: str) -> str | None:
    """A directory with a name for checkpoints, or with step directories, near the working folder. Reads the disk."""
    level, listed = [cwd], 0
    for _ in range(DEPTH):
        deeper: list[str] = []
        for folder in level:
            listed += 1
            if listed > MOST_DIRS:
                return None
            names = _folders(folder)
            if any(STEP_DIR.match(name) for name in names):
                return folder
            if named := next((name for name in names if KEEPS.search(name)), None):
                return os.path.join(folder, named)
            deeper += [os.path.join(folder, name) for name in names if not name.startswith((".", "__"))]
        level = deeper
    return None


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:  # gone or not ours: then nothing is found there
        return []
