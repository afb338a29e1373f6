"""One GPU, read by a thread of its own. If the driver never answers, only this thread is lost, and the others can tell since
when.

Only the end of the process (`os._exit`) ends such a thread: it is a daemon, and makes no call on the way out.
"""

from __future__ import annotations

import math
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from hangtop.common import clock
from hangtop.probe.gpu import codes
from hangtop.probe.gpu.queries import MINOR, QUICK, SLOW, Answer, GpuQuery
from hangtop.records.gpu import Gpu, GpuStatus
from hangtop.records.health import LATE_S, NO_ANSWER_S

ROUND_S = 1.0
ROUND_AT_S = 0.75
"""Part of each second: shortly before the source reads, so that its values are fresh."""
LEAST_PAUSE_S = 0.05
SLOW_PER_ROUND = 3
REFUSED_AGAIN_S = 10.0
BROKEN_AGAIN_S = 5.0
SLOW_CALL_S = 0.5
XID_EVERY_S = 5.0
NOTHING_KNOWN = Gpu(-1)


class GpuThread:
    """GPU number `index`, read from now on. `gpu()` never blocks; everything else runs in the thread."""

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._index = index
        self._handle: Any = None
        self._known: Answer = {"status": "reading", "since": clock.now(), "denied": ()}
        self._asked_at: float | None = None
        self._slowest_s = 0.0
        self._due: dict[str, float] = {}
        self._counters: dict[str, tuple[float, float]] = {}
        self._errors: dict[str, int] = {}
        self._xid_events: Any = None
        self._xid_due_at = 0.0
        self._retired = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"gpu-{index}", daemon=True)
        self._thread.start()

    def retire(self, within_s: float) -> None:
        """Stop. Waits for the call that is under way, so that NVML can be closed."""
        self._retired.set()
        self._thread.join(within_s)

    def gpu(self, now: float) -> Gpu:
        """The GPU at `now`. An overdue answer shows in `status`; old values stay."""
        known, asked_at = Gpu(self._index, **self._known.copy()), self._asked_at  # one step each: the thread may write
        if known.status == "lost":
            return known
        if asked_at is not None and now - asked_at > NO_ANSWER_S:
            return replace(known, status="no answer", since=asked_at, why=None)
        waits = asked_at is not None and now - asked_at > LATE_S
        since = asked_at if waits else known.read_at if known.status == "ok" else None
        if since is None or now - since <= LATE_S:
            return known
        slow = f"calls take {known.call_s:.1f} s" if known.call_s and known.call_s >= SLOW_CALL_S else None
        return replace(known, status="late", since=since, why=slow)

    def waits_since(self) -> float | None:
        """When the call under way began; `None` without one."""
        return self._asked_at

    def _work(self) -> None:
        while not self._retired.is_set():
            try:
                self._round()
                self._look_for_xid()
            except Exception as error:  # an error of hangtop or of the binding must not look like a silent GPU
                traceback.print_exc()
                self._become("unknown error", f"hangtop could not read it: {type(error).__name__}: {error}")
            period_s = ROUND_S if self._known["status"] in ("ok", "reading") else BROKEN_AGAIN_S
            self._retired.wait(clock.until_next(period_s, at_s=ROUND_AT_S, least_s=LEAST_PAUSE_S))

    def _round(self) -> None:
        started_at = clock.now()
        self._slowest_s = 0.0
        if self._handle is None and not self._open():
            return
        answered = [self._ask(query) for query in self._due_of(QUICK, started_at)]
        errors = [self._errors[query.name] for query in QUICK if query.name in self._errors]
        if (not any(answered) and errors) or codes.WHOLE_GPU.intersection(errors):
            self._become(*codes.status_of(max(errors, key=lambda code: (code in codes.WHOLE_GPU, errors.count(code)))))
        else:
            self._become("ok", None)
            if answered:
                self._known.update(read_at=round(started_at, 3), call_s=round(self._slowest_s, 2))
            self._forget(query for query in QUICK if query.name in self._errors)
        if self._known["status"] in ("ok", "not supported", "no permission"):
            now = clock.now()
            count = 1 if now - started_at > ROUND_S else SLOW_PER_ROUND
            for query in sorted(self._due_of(SLOW, now), key=lambda query: self._due.get(query.name, 0.0))[:count]:
                if not self._ask(query):
                    self._forget([query])

    def _look_for_xid(self) -> None:
        """Xid errors, which NVML reports as events. They are polled, because a wait could not be ended."""
        if self._handle is None or clock.now() < self._xid_due_at:
            return
        self._xid_due_at = clock.now() + XID_EVERY_S
        try:
            xid = self._call(self._latest_xid)
        except self._nvml.NVMLError:
            if self._xid_events is None:  # not supported
                self._xid_due_at = math.inf
            return
        if xid is not None:
            self._known.update(xid=xid, xid_at=clock.now())

    def _latest_xid(self) -> int | None:
        """The number of the last Xid since the previous call; `None` without one."""
        nvml, xid = self._nvml, None
        if self._xid_events is None:
            events = nvml.nvmlEventSetCreate()
            nvml.nvmlDeviceRegisterEvents(self._handle, nvml.nvmlEventTypeXidCriticalError, events)
            self._xid_events = events
        with suppress(nvml.NVMLError_Timeout):
            for _ in range(8):
                xid = int(nvml.nvmlEventSetWait(self._xid_events, 0).eventData)
        return xid

    def _due_of(self, queries: Iterable[GpuQuery], now: float) -> list[GpuQuery]:
        return [query for query in queries if self._due.get(query.name, 0.0) <= now]

    def _open(self) -> bool:
        """Get the handle by index, once: it stays valid when the driver numbers its GPUs anew."""
        nvml = self._nvml
        try:
            handle = self._call(nvml.nvmlDeviceGetHandleByIndex, self._index)
            self._known.update(uuid=self._call(nvml.nvmlDeviceGetUUID, handle))
            self._known.update(name=self._call(nvml.nvmlDeviceGetName, handle))
        except nvml.NVMLError as error:
            self._become(*codes.status_of(error.value))
            return False
        self._handle = handle
        self._ask(MINOR)
        return True

    def _ask(self, query: GpuQuery) -> bool:
        """Whether the query was answered. An answer is published at once."""
        self._errors.pop(query.name, None)
        try:
            answer: Answer = self._call(query.read, self._nvml, self._handle)
        except self._nvml.NVMLError as error:
            self._refused(query, error.value)
            return False
        except AttributeError:  # another version of the binding, without that function
            self._refused(query, codes.FUNCTION_NOT_FOUND)
            return False
        now = clock.now()
        self._due[query.name] = now + query.period_s - ROUND_S / 2
        self._known.update(self._rates(answer, now) if query.counters else answer)
        if query.name in self._known["denied"]:
            self._known.update(denied=tuple(name for name in self._known["denied"] if name != query.name))
        return True

    def _refused(self, query: GpuQuery, code: int) -> None:
        self._errors[query.name] = code
        lasting = code in codes.NEVER_HERE or code == codes.NO_PERMISSION
        self._due[query.name] = clock.now() + max(query.period_s, REFUSED_AGAIN_S if lasting else 0) - ROUND_S / 2
        if code == codes.NO_PERMISSION and query.name not in self._known["denied"]:
            self._known.update(denied=(*self._known["denied"], query.name))

    def _forget(self, queries: Iterable[GpuQuery]) -> None:
        """Drop values that can no longer be read though the GPU answers: old ones would be wrong."""
        fields = [field for query in queries for field in query.fields]
        self._known.update({field: getattr(NOTHING_KNOWN, field) for field in fields})

    def _rates(self, answer: Answer, now: float) -> Answer:
        rates: Answer = {}
        for field, count in answer.items():
            before_at, before = self._counters.get(field, (now, count))
            self._counters[field] = (now, count)
            rates[field] = round((count - before) / (now - before_at)) if now > before_at and count >= before else None
        return rates

    def _call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """One call into the driver, which may never return: `_asked_at` tells other threads."""
        asked_at = self._asked_at = clock.now()
        try:
            return call(*arguments)
        finally:
            self._asked_at = None
            self._slowest_s = max(self._slowest_s, clock.now() - asked_at)

    def _become(self, status: GpuStatus, why: str | None) -> None:
        since = self._known["since"] if self._known["status"] == status else clock.now()
        self._known.update(status=status, why=why, since=since)
