"""Which connections a process holds while it opens and closes files."""

from __future__ import annotations

import os
import sys

import pytest

from hangtop.system.agents import debugpy_client
from hangtop.system.network.connections import LISTEN, TcpConnection

KNOWN = [TcpConnection("127.0.0.1", 5678, "0.0.0.0", 0, LISTEN, 0, 71)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_a_file_that_is_closed_while_it_is_looked_at_hides_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def target(path: str) -> str:
        if path.endswith("/3"):
            raise FileNotFoundError(path)
        return "socket:[71]"

    monkeypatch.setattr(os, "listdir", lambda _: ["3", "4"])
    monkeypatch.setattr(os, "readlink", target)
    assert debugpy_client._held(7, KNOWN) == KNOWN
