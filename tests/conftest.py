"""What every test rests on."""

from __future__ import annotations

import os


def pytest_configure() -> None:
    """Programs of the tests write whole lines: with PYTHONUNBUFFERED `print` makes a write of each word, of each space and of
    the end of the line, and lines of ranks that share a log are torn ("rankrank  01  upup")."""
    os.environ.pop("PYTHONUNBUFFERED", None)
