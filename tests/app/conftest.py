"""Clock times on screen are local: the tests live in UTC."""

from __future__ import annotations

import time

import pytest


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
