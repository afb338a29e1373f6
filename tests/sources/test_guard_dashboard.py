"""The Grafana dashboard: of Grafana's own schema, and each of its questions answered by a real Prometheus about a real run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hangtop.cli.commands.guard import service
from tests.fakes.nvml.stand_in import StandInDriver
from tests.fakes.ports import free_port
from tests.fakes.processes import PATIENCE_S, eventually, running
from tests.scenarios.guard.unattended import demo

DASHBOARD: dict[str, Any] = json.loads(service("grafana"))


def lost(given: object, read: object, place: str = "dashboard") -> Iterator[str]:
    """Where what was read lacks something of what was given."""
    if isinstance(given, Mapping):
        known = read if isinstance(read, Mapping) else {}
        for name, value in given.items():
            yield from lost(value, known[name], f"{place}.{name}") if name in known else (f"{place}.{name}",)
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for number, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from lost(one, other, f"{place}[{number}]")
    elif given != read:
        yield place


def test_the_dashboard_has_nothing_that_grafana_does_not_know() -> None:
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="no grafana-foundation-sdk here")
    cog = pytest.importorskip("grafana_foundation_sdk.cog")
    encoder, plugins = (__import__(f"{cog.__name__}.{name}", fromlist=[name]) for name in ("encoder", "plugins"))
    plugins.register_default_plugins()

    def faults(dashboard: dict[str, Any]) -> list[str]:
        read = encoder.JSONEncoder(sort_keys=True, indent=2).encode(models.Dashboard.from_json(dashboard))
        return list(lost(dashboard, json.loads(read)))

    assert faults(DASHBOARD) == []
    first = {**DASHBOARD["panels"][0], "titel": "misspelled"}
    assert faults({**DASHBOARD, "panels": [first], "templatin": {}}) == ["dashboard.panels[0].titel", "dashboard.templatin"]


def test_panels_do_not_overlap_and_fit() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(0 <= x < 24 for x, _ in cells), "Grafana's grid has 24 columns"


def test_every_question_is_answered_about_a_real_run(tmp_path: Path) -> None:
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        pytest.skip("no Prometheus here: apt-get install prometheus")
    figures, port = free_port(), free_port()
    job = {"job_name": "hangtop", "scrape_interval": "1s", "static_configs": [{"targets": [f"127.0.0.1:{figures}"]}]}
    (tmp_path / "prometheus.yml").write_text(json.dumps({"scrape_configs": [job]}))
    stored = (f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data")
    driver = StandInDriver(tmp_path, "gpus 2\n")
    options = ("--log", "train.log", "--stall", "10", "--metrics", f"127.0.0.1:{figures}")
    launcher = (sys.executable, "-P", "-m", "hangtop.demo.launcher", "hang", str(tmp_path / "data"))
    with (
        demo(tmp_path) as environ,
        running(
            *(sys.executable, "-m", "hangtop", "guard", *options, "--", *launcher),
            cwd=tmp_path,
            env={**driver.environment, **environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ),
        running(
            *(prometheus, *stored, f"--web.listen-address=127.0.0.1:{port}"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ),
    ):

        def answered(question: str) -> bool:
            query = urllib.parse.urlencode({"query": question.replace("$instance", ".*")})
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=PATIENCE_S) as answer:
                    return bool(json.load(answer)["data"]["result"])
            except OSError:
                return False

        for panel in DASHBOARD["panels"]:
            for target in panel["targets"]:
                eventually(lambda: answered(target["expr"]), f"{panel['title']}: {target['expr']}")  # noqa: B023 - asked at once
        (names,) = [each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
        assert answered(names.removeprefix("label_values(").partition(",")[0])
