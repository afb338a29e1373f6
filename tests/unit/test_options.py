"""What a person asked for, as the words that make another hangtop watch the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hangtop.cli.config import read_config
from hangtop.cli.options import WATCH, options, watch_spec
from hangtop.records.watch_spec import DEFAULT_SOURCES, WatchSpec, as_options

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
"""Also such as look like an option."""


@click.command()
@options(WATCH)
def watch(**given: Any) -> WatchSpec:
    return watch_spec(given, read_config(given["config"]))


def read(*words: str) -> WatchSpec:
    """The spec of this command line."""
    spec = watch.main(words, standalone_mode=False)
    assert isinstance(spec, WatchSpec)
    return spec


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "mine.toml"
    path.write_text('stall = 33.5\nsources = ["log", "gpu"]\nray = "off"\nlang = "zh"\nread_only = true\n')
    return path


@given(
    logs=st.lists(WORDS, max_size=3),
    pids=st.lists(st.integers(1, 1 << 22), max_size=3),
    profile=st.sampled_from([None, "verl", "torchrun"]),
    stall=st.none() | st.floats(1, 1e6),
    sources=st.none() | st.lists(st.sampled_from(DEFAULT_SOURCES), min_size=1, unique=True),
    ray=st.none() | st.sampled_from(["auto", "off", "10.0.0.2:8265"]),
    ckpt=st.none() | WORDS,
    named=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_another_hangtop_with_these_words_watches_the_same(
    config: Path, logs: list[str], pids: list[int], named: bool, **others: Any
) -> None:
    typed = [f"--log={log}" for log in logs] + [f"--pid={pid}" for pid in pids]
    if others["sources"]:
        others["sources"] = ",".join(others["sources"])
    typed += [f"--{name}={value}" for name, value in others.items() if value is not None]
    typed += [f"--config={config}"] if named else []
    spec = read(*typed)
    assert read(*as_options(spec)) == spec


def test_no_option_that_says_what_to_watch_is_left_out() -> None:
    """A new one must be told to the other hangtop too."""
    told = {"--log", "--pid", "--profile", "--stall", "--sources", "--ray", "--ckpt", "--config", "--hosts", "--launcher"}
    told |= {"--torch-debug"}
    told_as_hosts = {"--slurm", "--k8s"}
    assert {param.opts[0] for param in watch.params} == told | told_as_hosts
    given = {
        "--log": "x",
        "--pid": "7",
        "--profile": "verl",
        "--ckpt": "c",
        "--hosts": "n1,n2",
        "--launcher": "rsh {host} {probe}",
        "--torch-debug": "n1:25999",
    }
    spec = read(*(f"{name}={value}" for name, value in given.items()))
    assert read(*as_options(spec)) == spec
    assert set(as_options(spec)) >= told - {"--config"}
