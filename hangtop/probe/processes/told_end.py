"""How a run that hangtop started has ended, where nobody saw its writer, or the kernel did not tell its exit code: its runner has
taken that down in the launch store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from hangtop.common.clean_words import clean_words, command_line
from hangtop.common.raw_text import to_os
from hangtop.records.launch import Launch
from hangtop.records.process import Writer
from hangtop.records.watch_spec import plain_file
from hangtop.system.guard import Guard
from hangtop.system.stores import launch_store


class ToldEnd:
    """Of the last start with this log. The store may lie on a file system that does not answer: a question of the guard."""

    def __init__(self, logs: Sequence[str]) -> None:
        self._log = plain_file(logs)
        self._asked: Guard[str, Launch | None] = Guard()
        self._launch: Launch | None = None

    def look(self) -> None:
        """Ask the store again; without an answer in time what was known stays."""
        if self._log is not None:
            self._launch = self._asked.known({self._log: partial(_ended_with, self._log)}).get(self._log, self._launch)

    def beside(self, writers: tuple[Writer, ...], written_at: float | None) -> tuple[Writer, ...]:
        """The writers, and the one that stands for that end, unless one of them lives or has told it. `written_at`: when the log
        source last saw new bytes: those of the run itself may be read a moment after its end."""
        launch = self._launch
        if launch is None or launch.ended_at is None or any(writer.alive for writer in writers):
            return writers
        of_start = [writer for writer in writers if writer.gone_at is not None and writer.gone_at >= launch.started_at]
        if any(writer.exit_code is not None for writer in of_start):
            return writers
        others = tuple(writer for writer in writers if writer not in of_start)
        gone_at = max(launch.ended_at, written_at or 0.0, *(writer.gone_at or 0.0 for writer in of_start))
        return (*others, _writer(launch, gone_at))


def _writer(launch: Launch, gone_at: float) -> Writer:
    name = clean_words(os.path.basename(launch.argv[0]))
    paths = () if launch.output is None else (clean_words(launch.output),)
    command = command_line(launch.argv)
    return Writer(
        launch.pid,
        launch.started_at,
        name,
        command,
        launch.start_ticks,
        paths,
        alive=False,
        gone_at=gone_at,
        exit_code=launch.exit_code,
        started_here=True,
    )


def _ended_with(log: str) -> Launch | None:
    """The last start with this log, if it has ended and nothing has been written since. Raises `OSError`."""
    known = launch_store.latest(os.path.realpath(log))
    if known is None or known.exit_code is None or known.ended_at is None or known.output is None:
        return None
    return known if os.stat(to_os(known.output)).st_size == known.size_bytes else None
