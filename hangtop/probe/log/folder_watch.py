"""Whether something changed in folders: new rank files, edited profiles. Only a hint that it is time to look again.

inotify does not see what other clients of a network file system do, and may be used up (`fs.inotify.max_user_watches`), so the
caller also checks by itself every few seconds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

STEP_MS, SETTLED_MS = 500, 400
"""How often watchfiles checks (its own 50 ms cost a tenth of an idle probe), and how long it collects changes into one."""


class FolderWatch:
    """Watches folders, not their subfolders, in a thread of its own."""

    def __init__(self) -> None:
        self._folders: frozenset[str] = frozenset()
        self._seen = threading.Event()
        self._stop = threading.Event()

    def watch(self, folders: Iterable[str]) -> None:
        """Watch these from now on, instead of those before."""
        wanted = frozenset(folder for folder in folders if os.path.isdir(folder))
        if wanted == self._folders:
            return
        self.close()
        self._folders, self._stop = wanted, threading.Event()
        if wanted:
            threading.Thread(target=self._run, args=(wanted, self._stop), name="changes", daemon=True).start()

    def seen(self) -> bool:
        """Something changed since the last call."""
        if not self._seen.is_set():
            return False
        self._seen.clear()
        return True

    def close(self) -> None:
        self._stop.set()

    def _run(self, folders: frozenset[str], stop: threading.Event) -> None:
        from watchfiles import Change, watch  # here, in the background: the first reading does not wait for the import

        def is_news(change: Change, path: str) -> bool:
            """A log that grows is no news; a profile may be edited in place."""
            return change != Change.modified or path.endswith(".toml")

        try:
            for _ in watch(
                *folders,
                watch_filter=is_news,
                debounce=SETTLED_MS,
                step=STEP_MS,
                rust_timeout=1000,
                stop_event=stop,
                recursive=False,
            ):
                self._seen.set()
        except OSError:
            return  # no watches left, or the folder went away: the slow look finds what there is to find
