"""`hangtop timeline`: a whole run as one picture."""

from __future__ import annotations

import locale
import os
import shutil
import sys
from pathlib import Path
from typing import TextIO

import msgspec

from hangtop.cli.commands.query import index_of_user
from hangtop.cli.config import config_dir
from hangtop.common.text import ascii_only, printable, speaks_utf8
from hangtop.feeds.replay import RecordingError
from hangtop.query.runs import timeline_rows, zone_shift_s
from hangtop.query.timeline_svg import TimelineDrawing
from hangtop.query.whole_run import NoTimeError, WholeRun, whole_run
from hangtop.render.spans import plain
from hangtop.tui.picture import FONTS, png
from hangtop.tui.themes import Palette, load_palettes
from hangtop.tui.widgets.timeline_rows import TextTimeline

NO_PNG = "a PNG needs resvg-py: pip install 'hangtop[notify]'; an SVG needs nothing"


def run(file: Path, output: Path | None, theme: str) -> int:
    """Write the picture, or without a place for it print it in characters. Exit code
    2, with one line, where it cannot be drawn or written."""
    palettes = load_palettes(config_dir())
    if (palette := palettes.get(theme)) is None or palette.ansi:
        drawn = ", ".join(name for name, each in palettes.items() if not each.ansi)
        return _refuse(f"no theme {theme!r} for pictures; there are {drawn}")
    try:
        seen = whole_run(timeline_rows(file, index_of_user(), zone_shift_s()))
        if output is None:
            tell(seen, sys.stdout)
            return 0
        drawing = picture(seen, file.name, palette)
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


def picture(seen: WholeRun, title: str, palette: Palette) -> str:
    """The run as SVG, in the colours of this theme."""
    colours = {name: str(value) for name, value in msgspec.to_builtins(palette).items()}
    return TimelineDrawing(seen, title, colours, FONTS).svg()


def tell(seen: WholeRun, out: TextIO) -> None:
    """The run in characters, as wide as the terminal."""
    width = shutil.get_terminal_size((120, 40)).columns
    safe = printable if speaks_utf8(os.environ, locale.getpreferredencoding(False)) else ascii_only
    out.writelines(f"{safe(plain(row))}\n" for row in TextTimeline(seen, width).rows())


def _refuse(why: str) -> int:
    sys.stderr.write(f"hangtop timeline: {why}\n")
    return 2
