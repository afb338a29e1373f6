"""Checks, in a child, whether a GPU that is broken for us answers a new NVML client, as it does once it was reset.

A child, because with a broken GPU `nvmlInit` itself may hang (go-nvml#152), and the healthy GPUs should be read meanwhile. A
child that does not end is left behind."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from hangtop.common.reaper import reap_later
from hangtop.system.hangtop_child import start_hangtop

LIMIT_S = 10.0


class ReopenCheck:
    """One child that reads the memory of GPU number `index`, or of the one with this UUID."""

    def __init__(self, index: int, uuid: str | None) -> None:
        self._child = start_hangtop("hangtop.probe.gpu.reopen_check", str(index), *([uuid] if uuid else []))
        self._began = time.monotonic()

    def answers(self) -> bool | None:
        """Whether the GPU answered; `None` while it may still. Too late is a no."""
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
