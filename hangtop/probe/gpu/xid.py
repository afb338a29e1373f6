"""Xid errors, which NVML reports as events. They are polled, because a wait could not be ended."""

from __future__ import annotations

from typing import Any

from hangtop.common import clock

POLL_S = 5.0


class XidEvents:
    """The event set of one GPU; no events where they are not supported."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._events: Any = None
        self._supported = True
        self._due_at = 0.0

    def is_due(self) -> bool:
        return self._supported and clock.now() >= self._due_at

    def latest(self, handle: Any) -> int | None:
        """The number of the last Xid since the previous call; `None` without one."""
        self._due_at = clock.now() + POLL_S
        try:
            if self._events is None:
                events = self._nvml.nvmlEventSetCreate()
                self._nvml.nvmlDeviceRegisterEvents(handle, self._nvml.nvmlEventTypeXidCriticalError, events)
                self._events = events
            return self._drain()
        except self._nvml.NVMLError:
            self._supported = self._events is not None
            return None

    def _drain(self) -> int | None:
        xid: int | None = None
        try:
            for _ in range(8):
                xid = int(self._nvml.nvmlEventSetWait(self._events, 0).eventData)
        except self._nvml.NVMLError_Timeout:
            return xid
        return xid
