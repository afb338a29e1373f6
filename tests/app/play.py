"""The app on a feed in memory, under a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from hangtop.records.ask import Ask, PageAsk
from hangtop.records.health import Heartbeat
from hangtop.records.log import LogLine, PageReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.app import HangtopApp
from tests.fakes.processes import PATIENCE_S

RECORDINGS = Path(__file__).parent.parent / "recordings"


def beat(at: float) -> Reading:
    """The probe lives, and has nothing new."""
    return Reading("probe", "n1", at, Heartbeat())


def line(offset: int, text: str, at: float, **more) -> LogLine:
    return LogLine(0, offset, at, more.pop("rank", None), "", text, **more)


class MemoryFeed:
    """Readings as the test hands them in. Pages are answered from `file`, the lines of the whole log."""

    def __init__(self, readings: Iterable[Reading] = (), file: Iterable[LogLine] = ()) -> None:
        self._queue: asyncio.Queue[Reading | None] = asyncio.Queue()
        self.file = list(file)
        self.asked: list[PageAsk] = []
        self.closed = False
        for reading in readings:
            self.put(reading)

    @property
    def waiting(self) -> bool:
        """Whether there are readings that the app has not taken yet."""
        return not self._queue.empty()

    def put(self, reading: Reading) -> None:
        self._queue.put_nowait(reading)

    async def readings(self) -> AsyncIterator[Reading]:
        while (reading := await self._queue.get()) is not None:
            yield reading

    def ask(self, ask: Ask) -> None:
        if isinstance(ask, PageAsk):  # nobody is here to look at stacks: those questions stay open
            self.asked.append(ask)
            self.put(Reading("pages", "n1", 0.0, self._answer(ask)))

    def close(self) -> None:
        self.closed = True
        self._queue.put_nowait(None)

    def _answer(self, ask: PageAsk) -> PageReading:
        lines = [line for line in self.file if line.file == ask.file]
        fits = [line for line in lines if not ask.pattern or ask.pattern.casefold() in line.text.casefold()]
        fits = [line for line in fits if not ask.kinds or line.kind in ask.kinds]
        if ask.direction == "back":
            page = [line for line in fits if line.offset < ask.offset][-ask.count :]
        else:
            page = [line for line in fits if line.offset >= ask.offset][: ask.count]
        at_start = not page or page[0] == fits[0]
        at_end = not page or page[-1] == fits[-1]
        return PageReading(ask.ask, tuple(page), at_start=at_start, at_end=at_end)


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def at_rest(*_: float) -> None:
    """Until everything has run that can run now, and that was due within 20 ms: the screen paints 60 times a second."""
    await asyncio.sleep(0.02)
    loop = asyncio.get_running_loop()
    still = 0
    while still < 3:
        await asyncio.sleep(0)
        still = 0 if loop._ready else still + 1  # type: ignore[attr-defined]


async def settle(pilot: Pilot[None], app: HangtopApp) -> None:
    """Until what was fed is folded and painted."""
    await pilot.pause()
    while isinstance(app.feed, MemoryFeed) and app.feed.waiting:
        await pilot.pause()
    app.tick()
    await pilot.pause()


async def until(pilot: Pilot[None], holds: Callable[[], object], what: str = "what was expected") -> None:
    """Until this holds: on a busy machine what a key does comes later than the key."""
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends, f"{what} did not come within {PATIENCE_S:.0f} s"
        if pilot.app.is_running:
            await pilot.pause()
        await asyncio.sleep(0.02)


async def seen(pilot: Pilot[None], app: HangtopApp, text: str) -> str:
    """All that a person sees, once this text is among it."""
    try:
        await until(pilot, lambda: text in screen_text(app), f"{text!r}")
    except AssertionError as late:
        raise AssertionError(f"{late}; on the screen:\n{screen_text(app)}") from None
    return screen_text(app)


def screen_text(app: HangtopApp) -> str:
    """What a person sees."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


def session(name: str, *, without: str = "") -> tuple[WatchSpec, list[Reading], float]:
    """A recording of `tests/recordings`: what was watched, its readings, the time of the last one. `without`: a source left out,
    such as "procs" where a run has to fall silent: processes that compute are a sign of life."""
    from hangtop.records import wire

    first, *rest = (RECORDINGS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    readings = [reading for line in rest if (reading := wire.decode_reading(line)).source != without]
    return wire.decode_header(first).spec, readings, readings[-1].at


def app_on(name: str, **options: object) -> tuple[HangtopApp, MemoryFeed, Clock]:
    """The app on a recording, its clock standing at the recording's end."""
    spec, readings, at = session(name)
    feed, clock = MemoryFeed(readings), Clock(at)
    return HangtopApp(spec, feed, now=clock, **options), feed, clock  # type: ignore[arg-type]


@asynccontextmanager
async def on_screen(
    name: str, size: tuple[int, int] = (120, 40), **options: object
) -> AsyncIterator[tuple[HangtopApp, Pilot[None], MemoryFeed, Clock]]:
    """The app on a recording, painted."""
    app, feed, clock = app_on(name, **options)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        yield app, pilot, feed, clock
