"""`hangtop timeline`: a whole run as one picture."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from hangtop.cli.commands.query import index_of_user
from hangtop.cli.config import config_dir
from hangtop.feeds.replay import RecordingError
from hangtop.query.runs import timeline_rows, zone_shift_s
from hangtop.query.timeline_svg import TimelineDrawing
from hangtop.query.whole_run import NoTimeError, whole_run
from hangtop.tui.picture import FONTS, png
from hangtop.tui.themes import load_palettes

NO_PNG = "a PNG needs resvg-py: pip install 'hangtop[notify]'; an SVG needs nothing"


def run(file: Path, output: Path, theme: str) -> int:
    """Write the picture. Exit code 2, with one line, where it cannot be drawn or written."""
    palettes = load_palettes(config_dir())
    if (palette := palettes.get(theme)) is None or palette.ansi:
        drawn = ", ".join(name for name, each in palettes.items() if not each.ansi)
        return _refuse(f"no theme {theme!r} for pictures; there are {drawn}")
    try:
        seen = whole_run(timeline_rows(file, index_of_user(), zone_shift_s()))
        colours = {name: str(value) for name, value in msgspec.to_builtins(palette).items()}
        drawing = TimelineDrawing(seen, file.name, colours, FONTS).svg()
        if output.suffix != ".png":
            output.write_text(drawing)
        elif not png(drawing, output):
            return _refuse(NO_PNG)
    except NoTimeError as error:
        return _refuse(f"{file}: {error}, so there is no axis of time")
    except RecordingError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename or file}: {error.strerror}")
    return 0


def _refuse(why: str) -> int:
    sys.stderr.write(f"hangtop timeline: {why}\n")
    return 2
