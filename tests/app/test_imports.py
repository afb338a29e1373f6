"""What the screen pulls in: nothing that may block or that takes long to load."""

from __future__ import annotations

import subprocess
import sys

import pytest

NEVER = ("ray", "pynvml", "psutil", "watchfiles", "duckdb", "ahocorasick_rs", "hangtop.probe.log.log_source")
NOT_AT_FIRST = (
    "hangtop.logs.lines.block_lines",
    "hangtop.logs.lines.prefixes",
    "hangtop.actions.plans",
    "hangtop.tui.pages.page",
    "hangtop.tui.dialogs.dialog",
)
"""What the first paint does without: the log's grammar is the probe's, and nobody has pressed a key."""


@pytest.mark.parametrize("heavy", [*NEVER, *NOT_AT_FIRST])
def test_the_app_loads_without(heavy):
    code = f"import sys, hangtop.tui.app; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=240).returncode == 0


@pytest.mark.parametrize("printed", ["hangtop.render.stack_rows", "hangtop.render.plan_rows"])
def test_what_commands_print_needs_no_textual(printed):
    code = f"import sys, {printed}; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=240).returncode == 0


def test_row_text_needs_no_textual():
    code = "import sys, hangtop.common.text; sys.exit('textual' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=240).returncode == 0
