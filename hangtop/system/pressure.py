"""How much of the last minute nobody could work for want of memory or disk: the kernel's pressure stall information.

Kernel docs, accounting/psi: `full avg60=4.50` means that all tasks that had work stood still for 4.5 % of the last minute.
"""

from __future__ import annotations

import re
from pathlib import Path

from hangtop.system.processes.proc_files import read_text

WHOLE = Path("/proc/pressure")
_FULL = re.compile(r"^full .*?\bavg60=(\d+(?:\.\d+)?)", re.MULTILINE)


def stalled_percent(resource: str, group: str | None = None, whole: Path = WHOLE) -> float | None:
    """Of `memory` or `io`, in this control group (version 2), else on the whole machine; `None`: the kernel does not tell."""
    places = [Path(group) / f"{resource}.pressure"] if group is not None else []
    texts = (read_text(place) for place in (*places, whole / resource))
    found = next((told for text in texts if (told := _FULL.search(text))), None)
    return None if found is None else float(found[1])
