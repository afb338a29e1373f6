"""The stand-in driver from Python: built with `cc`, told what to say through its state file, and a real probe on top."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from hangtop.records import wire
from hangtop.records.gpu import Gpu, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.processes import PATIENCE_S, running

HERE = Path(__file__).parent
PROBE = ("-m", "hangtop.probe")


@cache
def library_folder() -> Path:
    """A folder with `libnvidia-ml.so.1`. Skips the test where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here, so the stand-in NVIDIA driver cannot be built")
    folder = Path(tempfile.mkdtemp(prefix="hangtop-nvml-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "libnvidia-ml.so.1"
    sources = [str(HERE / name) for name in ("api.c", "failing.c", "state.c")]
    options = ("-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-soname,libnvidia-ml.so.1")
    subprocess.run([compiler, *options, "-o", str(library), *sources, "-lpthread"], check=True)
    return folder


class StandInDriver:
    """What the driver of one test says. `says` takes effect at once, also in processes that already use it."""

    def __init__(self, folder: Path, text: str = "") -> None:
        self._state = folder / "driver.txt"
        self._counts = folder / "calls"
        self.says(text)

    def says(self, text: str) -> None:
        """The whole state, in the words of the README beside this file; one jump, never half of it."""
        fresh = self._state.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self._state)

    @property
    def environment(self) -> dict[str, str]:
        own = {"LD_LIBRARY_PATH": str(library_folder()), "FAKENVML_STATE": str(self._state), "FAKENVML_COUNTS": str(self._counts)}
        return {**os.environ, **own}

    def calls(self, pid: int) -> Mapping[str, int]:
        """How often that process has called each function."""
        lines = Path(f"{self._counts}.{pid}").read_text().splitlines()[2:]
        return {name: int(count) for count, name in (line.split() for line in lines)}

    def users(self) -> tuple[int, ...]:
        """The pids that have opened it and told their calls."""
        return tuple(int(path.suffix[1:]) for path in self._counts.parent.glob(f"{self._counts.name}.*"))


class GpuProbe:
    """The real probe with the GPU source, and its readings as they came."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.readings: list[Reading] = []
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        for line in iter(self.process.stdout.readline, b""):
            self.readings.append(wire.decode_reading(line))

    @property
    def gpus(self) -> dict[int, Gpu]:
        """By index, as of the last reading."""
        last = self.last
        return {gpu.index: gpu for gpu in last.gpus} if last else {}

    @property
    def last(self) -> GpuReading | None:
        return next((r.value for r in reversed(self.readings) if isinstance(r.value, GpuReading)), None)

    @property
    def health(self) -> SourceHealth | None:
        beats = (r.value for r in reversed(self.readings) if isinstance(r.value, Heartbeat))
        return next((health for beat in beats for health in beat.sources if health.name == "gpu"), None)

    def was(self, index: int, status: str) -> bool:
        """Whether this GPU had this status in any reading: between two looks of ours a status may come and go."""
        told = (reading.value for reading in list(self.readings) if isinstance(reading.value, GpuReading))
        return any(gpu.index == index and gpu.status == status for value in told for gpu in value.gpus)

    def until(self, holds: Callable[[GpuProbe], object], what: str, within_s: float = PATIENCE_S) -> None:
        """Wait for it; how long is only a bound, for a hang."""
        end = time.monotonic() + within_s
        while not holds(self):
            assert self.process.poll() is None, f"the probe ended with {self.process.returncode}"
            assert time.monotonic() < end, f"{what}: not within {within_s:.0f} s; last was {self.last} {self.health}"
            time.sleep(0.05)


@contextmanager
def gpu_probe(environment: Mapping[str, str], *sources: str, program: tuple[str, ...] = PROBE) -> Iterator[GpuProbe]:
    """A probe of its own session, killed at the end."""
    spec = WatchSpec(sources=sources or ("gpu",))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running(sys.executable, *program, env=dict(environment), **pipes) as process:
        assert process.stdin is not None
        process.stdin.write(wire.encode(spec))
        process.stdin.flush()
        yield GpuProbe(process)
