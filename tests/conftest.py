"""What every test rests on: the same environment, whatever the shell has set, and the same examples in every run."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from tests.rewritten import rewrite_for_workers

OF_JOBS = (
    "CUDA_ GLOO_ HF_ HIP_ HUGGINGFACE_ JOB_COMPLETION_ MASTER_ MPI_ NCCL_ NVIDIA_ OMPI_ PALS_ PMI RAY_ ROCR_ SLURM TORCH VLLM_"
)
OF_SCREENS = "CLICOLOR COLORTERM COLUMNS FORCE_COLOR LANG LC_ LINES NO_COLOR TERM TEXTUAL_ TZ"
OF_PYTHON = "PYTHONASYNCIODEBUG PYTHONDEVMODE PYTHONIOENCODING PYTHONOPTIMIZE PYTHONSAFEPATH PYTHONUTF8 PYTHONWARNINGS"
OF_HANGTOP = "HANGTOP XDG_"
FOREIGN = tuple(f"{OF_JOBS} {OF_SCREENS} {OF_PYTHON} {OF_HANGTOP}".split())
"""Beginnings of names by which a job, a terminal or a person's settings would have a say in what the tests see."""
FOREIGN_WORDS = ("RANK", "WORLD_SIZE", "NNODES")
IGNORED_IN_BACKGROUND = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Signals that a program ignores, with all that it starts, where `nohup` or a shell started it in the background."""


def pytest_configure(config: pytest.Config) -> None:
    for name in list(os.environ):
        foreign = name.startswith(FOREIGN) or any(word in name for word in FOREIGN_WORDS)
        if foreign and "SNAPSHOT" not in name:  # the plug-in for pictures tells its workers a folder so
            del os.environ[name]
    # With it `print` makes a write of each word, of each space and of the end of the line, and lines of ranks that share a log
    # are torn ("rankrank  01  upup").
    os.environ.pop("PYTHONUNBUFFERED", None)
    for number in IGNORED_IN_BACKGROUND:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    home = TemporaryDirectory(prefix="hangtop-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    for kind in ("CACHE", "CONFIG", "DATA", "STATE"):
        os.environ[f"XDG_{kind}_HOME"] = os.path.join(home.name, kind.lower())
    os.environ |= {"LANG": "C.UTF-8", "TERM": "xterm-256color", "TZ": "UTC"}
    time.tzset()
    rewrite_for_workers(config)
    # Examples that differ from run to run would fail by chance, and so would a limit of time for each of them.
    steady = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("steady", steady)
    settings.load_profile("steady")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays: to look through it for garbage again and again took near half of the collection's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
