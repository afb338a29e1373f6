"""Weights and trajectories as files in folders that all processes see; a file is there as a whole or not at all."""

import json
import os
import time
from pathlib import Path
from typing import Any

WEIGHTS, PLAYED = Path("weights"), Path("played")
KEEP = 2


def say(who: str, text: str) -> None:
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {who}: {text}", flush=True)


def put(path: Path, thing: object) -> None:
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(json.dumps(thing))
    part.rename(path)


def take(path: Path) -> Any:
    return json.loads(path.read_text())


def weights(version: int) -> Path:
    return WEIGHTS / f"v{version:05}.json"


def latest() -> int:
    """The newest version, 0 before there is one."""
    return max((int(path.stem[1:]) for path in WEIGHTS.glob("v*.json")), default=0)


def publish(version: int, values: list[float]) -> None:
    """Only the newest few are kept: they are big."""
    put(weights(version), values)
    for old in sorted(WEIGHTS.glob("v*.json"))[:-KEEP]:
        old.unlink()
