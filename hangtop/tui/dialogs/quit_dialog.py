"""Before hangtop quits while a run that it started still lives: leave it running, stop it, or stay. Leaving is the default."""

from __future__ import annotations

import shlex

from hangtop.actions.registry import Choices, action
from hangtop.tui.dialogs.question import Answer, QuestionScreen
from hangtop.tui.open_action import open_plan
from hangtop.tui.shell import Shell


class QuitScreen(QuestionScreen):
    """Every answer is immediate: the dialog reads nothing and waits for nothing. `q` a second time quits."""

    DEFAULT_CSS = "QuitScreen #box { max-width: 78; border: heavy $accent; }"

    def __init__(self, shell: Shell) -> None:
        log = shlex.quote(next(iter(shell.spec.logs), "LOG"))
        super().__init__(
            "The run goes on when hangtop quits",
            [(("To watch it again: ", "muted"), (f"hangtop --log {log}", "ink"))],
            (
                Answer("Leave it running", shell.action_leave, ("q", "ctrl+c", "ctrl+q"), "leave"),
                Answer("Stop it …", lambda: open_plan(shell, action("stop"), Choices()), ("s",), "stop it", grave=True),
                Answer("Stay", lambda: None, ("escape",), "stay"),
            ),
        )
