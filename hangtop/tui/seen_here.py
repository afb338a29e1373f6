"""What the child process of a page is given: what this hangtop has seen, and the logs in which all lines and steps stand."""

from __future__ import annotations

from hangtop.tui.shell import Shell


def seen_here(app: Shell) -> bytes:
    """As a recording: of a replay the whole one."""
    return app.seen.recording() if app.replay is None else app.replay.data


def logs_here(app: Shell) -> tuple[str, ...]:
    """The files of the run's logs; none in a replay, whose logs may be others by now."""
    log = app.state.log
    if app.replay is not None or log is None:
        return ()
    return tuple(file.path for file in log.files if file.status == "ok" and file.path != "-")
