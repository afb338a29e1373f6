"""Commands of hangtop itself that gather evidence before anything is ended: each a child with a deadline."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator

from hangtop.actions.execute.child import end_group
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import text
from hangtop.records.plan import EvidenceCommand, Step

LOOK_EVERY_S = 0.1


def run_all(errands: Iterable[EvidenceCommand], halt: CancelFlag) -> Iterator[Step]:
    """One after the other. One that fails is told, and holds nothing up."""
    for errand in errands:
        if halt():
            yield step("skipped", f"{errand.title}: not begun")
            continue
        yield from _run(errand, halt)


def _run(errand: EvidenceCommand, halt: CancelFlag) -> Iterator[Step]:
    yield step("doing", f"{errand.title}, within {errand.deadline_s:.0f} s")
    began = time.monotonic()
    with tempfile.TemporaryFile() as spoken:
        try:
            with open(errand.output or os.devnull, "wb") as output:
                child = subprocess.Popen(
                    [sys.executable, "-m", "hangtop", *errand.words],
                    stdin=subprocess.DEVNULL,
                    stdout=output if errand.output else spoken,
                    stderr=spoken,
                    start_new_session=True,
                )
        except OSError as error:
            yield step("skipped", f"{errand.title}: {error}")
            return
        code = _wait(child, errand.deadline_s, halt)
        said = os.pread(spoken.fileno(), 1 << 16, 0).decode(errors="replace").strip().splitlines()
    took = f"{time.monotonic() - began:.1f} s"
    if code is None:
        yield step("skipped", f"{errand.title}: broken off after {took}")
    elif code == 0:
        yield step("done", f"{errand.title}: {errand.output or (said[0] if said else 'done')}, {took}")
    else:
        last = said[-1] if said else "it said nothing"
        yield step("skipped", f"{errand.title}: exit code {code} after {text.duration(time.monotonic() - began)}: {last[:200]}")


def _wait(child: subprocess.Popen[bytes], within_s: float, halt: CancelFlag) -> int | None:
    """Its exit code; `None` when it took too long, or nobody wants it any more: then it is ended."""
    until = time.monotonic() + within_s
    while (code := child.poll()) is None:
        if halt.asked or time.monotonic() > until:
            end_group(child)
            return None
        time.sleep(LOOK_EVERY_S)
    return code
