"""The app over real processes stands still before it is looked at, as in `tests/app`."""

from __future__ import annotations

from tests.app.conftest import own_action_log, still

__all__ = ["own_action_log", "still"]
