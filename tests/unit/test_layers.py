"""What a fresh interpreter loads with a part of hangtop.

Which package may import which stands in `pyproject.toml`, and `lint-imports` checks it. Here is what only a start can tell: what
a library brings along, and what is loaded later, when it is asked for.
"""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter

import pytest
from grimp import build_graph

from hangtop.probe.source import SOURCES

SCREEN = {"textual", "rich"}
BLOCKS = {"pynvml", "ray", "psutil", "watchfiles"}
CORE = ("records", "logs", "stacks", "state", "diagnosis", "actions.plans", "monitor.monitor")


def loaded(statement: str) -> set[str]:
    """Names of all modules, and of the packages that they are in, once this statement has run."""
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=240)
    return set(done.stdout.split())


def test_the_core_knows_no_screen_no_driver_and_no_event_loop() -> None:
    every_module = (
        "import importlib, pkgutil\n"
        f"for name in {CORE!r}:\n"
        "    part = importlib.import_module(f'hangtop.{name}')\n"
        "    for found in pkgutil.walk_packages(getattr(part, '__path__', ()), part.__name__ + '.'):\n"
        "        importlib.import_module(found.name)\n"
        "pass"
    )
    assert not loaded(every_module) & {*SCREEN, *BLOCKS, "asyncio", "subprocess"}


@pytest.mark.parametrize(
    ("start", "without"),
    [
        ("hangtop.probe.__main__", {*SCREEN, *BLOCKS, "click"}),
        ("hangtop.cli.main, hangtop.cli.commands.check", {*SCREEN, "pynvml", "ray"}),
        ("hangtop.render.stack_rows, hangtop.render.plan_rows", {"textual"}),
        ("hangtop.common.text", SCREEN),
    ],
)
def test_what_it_does_without_is_not_loaded(start: str, without: set[str]) -> None:
    assert not loaded(f"import {start}") & without


def test_the_screen_comes_up_without_what_blocks_and_without_what_no_key_has_asked_for_yet() -> None:
    reads_logs = {
        "ahocorasick_rs",
        "hangtop.logs.lines.block_lines",
        "hangtop.logs.lines.prefixes",
        "hangtop.probe.log.log_source",
    }
    for_keys = {"hangtop.actions.plans", "hangtop.tui.pages.page", "hangtop.tui.dialogs.dialog"}
    assert not loaded("import hangtop.tui.app") & (BLOCKS | reads_logs | for_keys)


def test_the_catalog_is_loaded_without_what_reads_lines() -> None:
    reads_lines = {"hangtop.logs.lines.block_lines", "hangtop.logs.lines.prefixes", "hangtop.logs.extract.steps.step_tables"}
    assert not loaded("import hangtop.logs.catalog.load") & reads_lines


def test_no_file_imports_another_in_a_circle() -> None:
    """Imports for types alone count: who reads one of two files that need each other must read both."""
    graph = build_graph("hangtop", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # a `CycleError` names the circle


def test_sources_load_http_and_tls_with_their_first_request() -> None:
    modules = ", ".join(sorted({place.partition(":")[0] for place in SOURCES.values()}))
    assert {"http.client", "ssl", "email"}.isdisjoint(loaded(f"import {modules}"))
