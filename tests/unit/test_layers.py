"""What may be imported where, each seen in a fresh interpreter: the core has no screen, no driver, no Ray, no event loop."""

from __future__ import annotations

import subprocess
import sys

import pytest

CORE = (
    "hangtop.state.run_state",
    "hangtop.records.wire",
    "hangtop.diagnosis.members.rank_table",
    "hangtop.diagnosis.check_report",
    "hangtop.common.redact",
    "hangtop.logs.digest",
    "hangtop.logs.joined_logs",
    "hangtop.logs.catalog.load",
    "hangtop.diagnosis.judge",
    "hangtop.monitor.verdict_history",
    "hangtop.actions.plans.stop_plan",
)


def loaded(statement: str) -> set[str]:
    """Top-level names of everything that this statement imports."""
    code = f"{statement}; import sys; print(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    return set(subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("module", CORE)
def test_the_core_knows_no_screen_no_driver_and_no_event_loop(module: str) -> None:
    assert not loaded(f"import {module}") & {"textual", "rich", "pynvml", "ray", "psutil", "asyncio", "watchfiles", "subprocess"}


def test_the_probe_loads_a_source_only_when_it_is_asked_for() -> None:
    assert not loaded("import hangtop.probe") & {"textual", "rich", "pynvml", "ray", "watchfiles", "click"}


def test_check_starts_without_the_screen() -> None:
    assert not loaded("import hangtop.cli.main, hangtop.cli.commands.check") & {"textual", "rich", "pynvml", "ray"}


def test_the_screen_loads_the_catalog_without_what_reads_lines() -> None:
    code = "import hangtop.logs.catalog.load, sys; print(*[name for name in sys.modules if name.startswith('hangtop.logs')])"
    modules = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout.split()
    assert not {"hangtop.logs.lines.block_lines", "hangtop.logs.lines.prefixes", "hangtop.logs.extract.step_tables"} & {
        *modules
    }, modules
