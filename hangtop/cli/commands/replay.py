"""`hangtop replay`: a recorded session again, on the same screens."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec.structs import replace

from hangtop.cli.commands import watch
from hangtop.common.text import some
from hangtop.feeds.replay import RecordingError, ReplayFeed, load


def run(path: Path, speed: float, look: watch.WatchOptions) -> int:
    """Play it. Exit code 2 with one line when the file is no recording."""
    try:
        recording = load(path)
    except RecordingError as error:
        sys.stderr.write(f"hangtop replay: {error}\n")
        return 2
    if recording.torn:
        sys.stderr.write(f"hangtop replay: left out of {path}: {some(recording.torn, 'line')} cut short\n")
    on_screen = not look.as_lines and watch.can_draw()
    feed = ReplayFeed(recording, speed, ends=not on_screen)
    return watch.show(feed, recording.header.spec, replace(look, title=path.name), feed.now, on_screen=on_screen)
