"""Where hangtop keeps the user's settings and its own state, by the XDG base directory specification.

platformdirs knows that for every system, and what a variable without a whole path means. It loads 20 modules for it, two archive
formats among them: 5 ms of each start and 2 MB of each process, which the usual case does without."""

from __future__ import annotations

import os
import sys
from pathlib import Path

NAME = "hangtop"


def config_folder() -> Path:
    """The folder of the user's settings, which may not exist."""
    if (found := _usual("XDG_CONFIG_HOME", ".config")) is not None:
        return found
    from platformdirs import user_config_path

    return user_config_path(NAME)


def state_folder() -> Path:
    """The folder of what hangtop remembers, which may not exist."""
    if (found := _usual("XDG_STATE_HOME", ".local/state")) is not None:
        return found
    from platformdirs import user_state_path

    return user_state_path(NAME)


def _usual(variable: str, below_home: str) -> Path | None:
    """On Linux, where the variable or the home folder is a whole path."""
    base = os.environ.get(variable) or os.path.join(os.environ.get("HOME", ""), below_home)
    return Path(base, NAME) if sys.platform == "linux" and os.path.isabs(base) else None
