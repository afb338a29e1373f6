"""The source "checkpoints": whether a save goes on, by the newest file of the checkpoint directory and how fast it fills."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from hangtop.common.clean_words import clean_words
from hangtop.common.late_pattern import late_pattern
from hangtop.probe.context import ProbeContext
from hangtop.probe.source import Absent, Source, SourceError
from hangtop.records.checkpoints import GIVEN, GUESSED, CheckpointReading
from hangtop.records.reading import Value
from hangtop.system.guard import Guard
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.table import OpenFile, ProcessTable, cwd_of

FLOOR_S = 15.0
"""The directory is listed after this long in any case: inotify does not see other clients of a network file system."""
BUSY_S, BUSY_TIMES = 2.0, 50
"""The least pause while files arrive, in seconds and as a multiple of the CPU time of a listing: there may be thousands of
files."""
SOON_S = 1.0
"""The pause before the second listing: one alone cannot tell that a save goes on, and `check` has few seconds."""
STEP_MS = 500
"""How often watchfiles checks."""
FIND_AGAIN_S = 20.0
LEISURE = 5_000
"""The pause after a search for the directory, as a multiple of its CPU time."""
WINDOW_S = 30.0
MOST_FILES = 20_000

OPTIONS = frozenset(
    "checkpoint_dir checkpoint_path checkpoints_dir ckpt_dir ckpt_path save_dir save_path save save_folder output_dir output "
    "default_local_dir trainer.default_local_dir trainer.output_dir exp_manager.exp_dir default_root_dir".split()
)
"""Names of the option in Megatron, DeepSpeed, HF, verl, OpenRLHF, NeMo and Lightning, dashes read as underscores."""
DATA = late_pattern(r"\.(?:pt|pth|ckpt|bin|safetensors|distcp|tmp)$|/(?:global_step|checkpoint|iter_|epoch)[^/]*/", re.IGNORECASE)
STEP_DIR = late_pattern(r"^(?:global_step|checkpoint-|iter_|step|epoch)[-_=]?\d+$", re.IGNORECASE)
KEEPS = late_pattern(r"^(?:checkpoints?|ckpts?|saved_models?|weights)$|[-_](?:checkpoints?|ckpts?)$", re.IGNORECASE)
DEPTH, MOST_DIRS = 3, 500


class CheckpointSource(Source):
    """Watches one directory: the given one, else the one that the run's own processes tell. Older files belong to an older
    run."""

    interval_s = 1.0
    deadline_s = 10.0

    def __init__(self, context: ProbeContext, table: ProcessTable | None = None) -> None:
        self._context = context
        self._table = table or open_table()
        self._commands: Guard[int, tuple[str, ...]] = Guard()
        self._held: Guard[int, tuple[OpenFile, ...]] = Guard()
        self._directory: str | None = None
        self._found_by = ""
        self._look_for_at = 0.0
        self._sizes: deque[tuple[float, int]] = deque()
        """When the directory was listed, and how many bytes it held."""
        self._cost_s = 0.0
        self._grown_at: float | None = None
        self._changed = threading.Event()
        self._stop = threading.Event()

    def read(self, now: float) -> Iterable[Value]:
        """A listing when something stirred or one is due. `Absent` until a directory is found, `SourceError` when it is lost."""
        self._find(now)
        if self._directory is None:
            raise Absent("no checkpoint directory found yet: name it with --ckpt DIR")
        if not self._is_due(now):
            return
        self._changed.clear()
        if not os.path.isdir(self._directory):
            raise SourceError(f"{self._directory}: no such directory: name another with --ckpt DIR")
        yield self._list(self._directory, now)

    def _is_due(self, now: float) -> bool:
        if not self._sizes:
            return True
        since = now - self._sizes[-1][0]
        if len(self._sizes) == 1:
            return since >= SOON_S
        growing = self._grown_at is not None and now - self._grown_at < WINDOW_S
        busy_s = max(BUSY_S, BUSY_TIMES * self._cost_s)
        return since >= max(FLOOR_S, busy_s) or (since >= busy_s and (growing or self._changed.is_set()))

    def _list(self, directory: str, now: float) -> CheckpointReading:
        began = time.thread_time()
        listed = list_checkpoints(directory, self._found_by, self._since)
        self._cost_s = time.thread_time() - began
        if self._sizes and listed.bytes > self._sizes[-1][1]:
            self._grown_at = now
        self._sizes.append((now, listed.bytes))
        while len(self._sizes) > 2 and now - self._sizes[1][0] >= WINDOW_S:
            self._sizes.popleft()
        first_at, first_bytes = self._sizes[0]
        growth = None if now <= first_at else round(max(0, listed.bytes - first_bytes) / (now - first_at), 1)
        return replace(listed, growth_b_s=growth, grown_at=self._grown_at)

    def _find(self, now: float) -> None:
        """Search for the directory now and then until there is one. The process source tells which processes are the run."""
        if self._directory is not None or now < self._look_for_at:
            return
        if (given := self._context.spec.checkpoint_dir) is not None:
            self._settle(os.path.abspath(given), GIVEN)
            return
        if (members := self._context.members) is None:
            return
        began = time.thread_time()
        for directory, found_by in self._pointed_to([process.pid for process in members]):
            if directory is None or not os.path.isdir(directory):
                continue
            if found_by != GUESSED or list_checkpoints(directory, found_by, self._since).newest is not None:
                self._settle(directory, found_by)
                return
        self._look_for_at = now + max(FIND_AGAIN_S, LEISURE * (time.thread_time() - began))

    @property
    def _since(self) -> float:
        """When the run started (unix time); 0 if no process of it is known."""
        return min((member.started_at for member in self._context.members or ()), default=0.0)

    def _settle(self, directory: str, found_by: str) -> None:
        self._directory = self._context.checkpoint_dir = directory
        self._found_by = found_by
        threading.Thread(target=self._listen, args=(directory,), name="checkpoint-watch", daemon=True).start()

    def _listen(self, directory: str) -> None:
        """Make a listing due when a local process changes a file; without inotify the regular listing remains."""
        from watchfiles import watch  # 2 MB, and many runs write no checkpoints

        try:
            for _ in watch(directory, stop_event=self._stop, debounce=1_000, step=STEP_MS, rust_timeout=60_000):
                self._changed.set()
        except (OSError, RuntimeError):  # no more inotify watches, or the directory is gone
            return

    def _pointed_to(self, members: Sequence[int]) -> Iterable[tuple[str | None, str]]:
        """Directories that the run's processes tell, the surest first."""
        cwds = {pid: cwd for pid in members if (cwd := cwd_of(self._table, pid))}
        if self._context.log is not None and (said := self._context.log.checkpoint_dir):
            for cwd in dict.fromkeys((*cwds.values(), "/")):
                yield os.path.normpath(os.path.join(cwd, said)), "the log"
        for pid, words in self._commands.known({pid: partial(self._table.command, pid) for pid in cwds}).items():
            yield in_command(words, cwds[pid]), "the command line"
        for files in self._held.known({pid: partial(self._table.open_files, pid) for pid in members}).values():
            yield in_files(files), "an open file"
        for cwd in dict.fromkeys(cwds.values()):
            if cwd not in ("/", os.path.expanduser("~")):
                yield below(cwd), GUESSED


def list_checkpoints(directory: str, found_by: str, since: float = 0.0) -> CheckpointReading:
    """Sum of at most `MOST_FILES` files below, and the newest that was written after `since`. Files that vanish are left out."""
    total, count = 0, 0
    newest: tuple[float, str, int] | None = None
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names)
    for path in islice(paths, MOST_FILES):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        total, count = total + status.st_size, count + 1
        if status.st_mtime >= since:
            newest = max(newest or (0.0, "", 0), (status.st_mtime, path, status.st_size))
    reading = CheckpointReading(clean_words(directory), found_by, bytes=total, files=count)
    if newest is None:
        return reading
    name = clean_words(os.path.relpath(newest[1], directory))
    return replace(reading, newest=name, newest_bytes=newest[2], modified_at=newest[0])


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
