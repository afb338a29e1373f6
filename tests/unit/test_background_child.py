"""What the screen says of a child that gives no answer: why it broke off, at once."""

from __future__ import annotations

import sys

import pytest

from hangtop.query.requests import TOO_LONG, SqlAsk
from hangtop.tui import background_work
from hangtop.tui.background_work import answered


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("raise SystemError('no room, token=hf_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z')", "broke off: SystemError: no room, token="),
        ("import os; os.kill(os.getpid(), 9)", "broke off: killed by SIGKILL"),
        (f"raise SystemExit({TOO_LONG})", "no answer within 120 s"),
    ],
)
async def test_why_there_is_no_answer_is_told(does: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_work, "hangtop_command", lambda _: (sys.executable, "-S", "-c", does))
    problem = (await answered(SqlAsk("SELECT 1"))).problem
    assert said in problem
    assert "hf_" not in problem
