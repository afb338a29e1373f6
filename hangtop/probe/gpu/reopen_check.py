"""Whether a GPU that is broken for us answers one who opens NVML anew, as it does once it was reset or came back to the bus.

Asked by a child process, since below a broken GPU `nvmlInit` itself may hang (go-nvml#152), and what the healthy GPUs answer must
not be given up for nothing. A child that does not end is left behind.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from hangtop.common.reaper import reap_later
from hangtop.system.hangtop_child import start_hangtop

LIMIT_S = 10.0


class ReopenCheck:
    """One child that asks GPU number `index`, or the one of this UUID, how much of its memory is used."""

    def __init__(self, index: int, uuid: str | None) -> None:
        self._child = start_hangtop("hangtop.probe.gpu.reopen_check", str(index), *([uuid] if uuid else []))
        self._began = time.monotonic()

    def answers(self) -> bool | None:
        """`None` while it may still come. One that takes too long is a no."""
        code = self._child.poll()
        if code is None and time.monotonic() - self._began > LIMIT_S:
            with suppress(OSError):
                self._child.kill()
            reap_later(self._child)
            return False
        return None if code is None else code == 0


def main() -> None:
    import pynvml

    try:
        pynvml.nvmlInit()
        handle = (
            pynvml.nvmlDeviceGetHandleByUUID(sys.argv[2])
            if len(sys.argv) > 2
            else pynvml.nvmlDeviceGetHandleByIndex(int(sys.argv[1]))
        )
        pynvml.nvmlDeviceGetMemoryInfo(handle)
    except pynvml.NVMLError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
