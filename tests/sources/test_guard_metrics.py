"""What a guard offers to Prometheus: scraped over HTTP, read by its own parser, and by a real Prometheus where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.guard.metrics import MetricsError, serve
from hangtop.state.run_state import RunState, fold
from tests.app.play import session
from tests.fakes.ports import free_port
from tests.fakes.processes import eventually, running

OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture(scope="module")
def address() -> str:
    """Figures of a fleet whose rank 3 hangs."""
    spec, readings, at = session("fleet_hung")
    state = RunState()
    for reading in readings:
        state = fold(state, reading)
    snapshot = take_snapshot(state, spec, at)
    place = f"127.0.0.1:{free_port()}"
    serve(place).look(snapshot, judge(snapshot))
    return place


@pytest.fixture(scope="module")
def samples(address: str) -> list[Sample]:
    request = urllib.request.Request(f"http://{address}/metrics", headers=OPEN_METRICS)
    with urllib.request.urlopen(request, timeout=60) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return [sample for family in families for sample in family.samples]


def value(samples: list[Sample], name: str, **labels: str) -> float:
    (found,) = [each.value for each in samples if each.name == name and labels.items() <= each.labels.items()]
    return found


def test_the_verdict_is_one_word_and_says_which(samples: list[Sample]) -> None:
    said = {each.labels["verdict"]: each.value for each in samples if each.name == "hangtop_verdict"}
    assert [word for word, is_said in said.items() if is_said] == ["hung"]
    assert len(said) == 8


def test_ranks_gpus_and_training_are_told_in_base_units(samples: list[Sample]) -> None:
    assert value(samples, "hangtop_culprits") == 1
    assert value(samples, "hangtop_ranks") == 8
    assert value(samples, "hangtop_silence_seconds") > value(samples, "hangtop_silence_limit_seconds")
    names = {each.name for each in samples}
    assert {"hangtop_gpu_utilization_ratio", "hangtop_rank_step", "hangtop_training_value"} <= names
    assert all(0 <= each.value <= 1 for each in samples if each.name == "hangtop_gpu_utilization_ratio")


def test_an_address_that_is_none_or_taken_is_one_line(address: str) -> None:
    with pytest.raises(MetricsError, match="HOST:PORT is wanted"):
        serve("here")
    with pytest.raises(MetricsError, match="in use"):
        serve(address)


def test_who_watches_offers_the_same_figures(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1/9 loss=1.0\n")
    place = f"127.0.0.1:{free_port()}"
    options = ("--plain", "--log", str(tmp_path / "train.log"), "--metrics", place)

    def figures() -> str:
        try:
            with urllib.request.urlopen(f"http://{place}/metrics", timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    with running(sys.executable, "-m", "hangtop", *options, stdout=subprocess.DEVNULL):
        eventually(lambda: "hangtop_step 1.0" in figures(), "the step of the log")


def test_the_dashboard_asks_for_nothing_that_is_not_offered(samples: list[Sample]) -> None:
    dashboard = json.loads((files("hangtop.guard") / "services" / "grafana.json").read_text())
    asked = {
        name for panel in dashboard["panels"] for each in panel["targets"] for name in re.findall(r"hangtop_\w+", each["expr"])
    }
    silent_here = {"hangtop_rank_cpu_cores", "hangtop_rank_resident_memory_bytes"}
    assert asked - {each.name for each in samples} <= silent_here
    assert len(asked) > 15


def test_the_names_and_units_are_as_prometheus_wants_them(address: str) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool here: apt-get install prometheus")
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        checked = subprocess.run([promtool, "check", "metrics"], input=answer.read(), capture_output=True, timeout=60)
    assert (checked.returncode, checked.stderr, checked.stdout) == (0, b"", b"")


def test_a_real_prometheus_reads_them(address: str, tmp_path: Path) -> None:
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        pytest.skip("no Prometheus here: apt-get install prometheus")
    job = {"job_name": "hangtop", "scrape_interval": "1s", "static_configs": [{"targets": [address]}]}
    (tmp_path / "prometheus.yml").write_text(json.dumps({"scrape_configs": [job]}))
    port = free_port()
    options = (
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with running(prometheus, *options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        query = urllib.parse.quote("hangtop_verdict == 1")

        def found() -> list[dict[str, Any]]:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=60) as answer:
                    return json.load(answer)["data"]["result"]
            except OSError:
                return []

        assert [each["metric"]["verdict"] for each in eventually(found, "a scrape")] == ["hung"]
