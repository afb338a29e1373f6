"""What tests of several sources share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.log_session import Session
from tests.fakes.side_by_side import pytest_configure, pytest_pyfunc_call

__all__ = ["pytest_configure", "pytest_pyfunc_call"]


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    """What is to be closed whatever happens: a socket left open would fail the test that runs next."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def watch() -> Iterator[Callable[..., Session]]:
    """Begins to watch logs; what was opened is closed at the end."""
    sessions: list[Session] = []

    def begin(*logs: str | Path, **spec: object) -> Session:
        sessions.append(Session(*logs, **spec))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.source.close()
