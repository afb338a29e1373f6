"""The kinds of fault, as the lines that are put into a program, and what each means for the run."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.scenarios.unseen.sites import Site

Outcome = Literal["alive", "hung", "crashed", "finished"]


@dataclass(frozen=True)
class Setting:
    """What the lines of a fault may depend on."""

    site: Site
    seconds: float
    """How long a long one takes."""
    rate: int
    """Bytes each second, of the far side."""
    hits_a_step: float
    chance: random.Random

    @property
    def size(self) -> int:
        return int(self.rate * self.seconds)


@dataclass(frozen=True)
class Kind:
    """One kind of fault. `lines` says what to put before the statement; None where the statement is left out instead, or where
    nothing is put at all."""

    name: str
    means: Outcome
    lines: Callable[[Setting], str] | None
    needs: Literal["nothing", "torch", "message"] = "nothing"
    changes: bool = True
    lasting: bool = False
    talks: bool = False
    """It writes log lines while it lasts."""
    helper_is_cause: bool = False
    is_error: bool = False
    """The process itself may outlive it."""
    also_right: tuple[str, ...] = ()

    @property
    def leaves_out(self) -> bool:
        """Whether the statement itself is left out, once, and nothing put before it."""
        return self.changes and self.lines is None


def _fixed(text: str) -> Callable[[Setting], str]:
    return lambda setting: text


def _one_of(*texts: str) -> Callable[[Setting], str]:
    return lambda setting: setting.chance.choice(texts)


def _event(setting: Setting) -> str:
    if setting.site.in_coroutine:
        return "await runtools.asyncio.Event().wait()"
    return setting.chance.choice(
        [
            "runtools.threading.Event().wait()",
            "turnstile = runtools.threading.Condition()\nwith turnstile:\n    turnstile.wait()",
            "runtools.multiprocessing.Event().wait()",
        ]
    )


def _upload(setting: Setting) -> str:
    buffer = setting.chance.choice([None, 16384, 65536])
    return f"runtools.upload({setting.size}, {buffer})"


def _retry(setting: Setting) -> str:
    pause = int(setting.seconds)
    text = setting.chance.choice(
        [
            f"connection reset by peer, retrying in {pause} seconds",
            f"WARNING rate limited by the hub (429). Retrying in {pause} seconds",
            f"storage not ready; will retry in {pause}s (attempt 1 of 5)",
        ]
    )
    return f"runtools.report({text!r})\nruntools.time.sleep({pause})"


def _again(setting: Setting) -> str:
    error = setting.chance.choice(
        ["Connection aborted by the far side", "NaN in batch, skipping it", "CUDA error: out of memory"]
    )
    return f"runtools.try_again({setting.chance.uniform(1, 4):.1f}, {error!r})"


def _slow(setting: Setting) -> str:
    """A hundred times slower, but a step at least every dozen seconds."""
    pause = setting.chance.uniform(3.0, 11.0) / max(1.0, setting.hits_a_step)
    return f"runtools.linger({pause:.4f}, busy={setting.chance.random() < 0.5})"


def _raise(setting: Setting) -> str:
    return "raise " + setting.chance.choice(
        [
            'RuntimeError("shape mismatch: expected [32, 8], got [31, 8]")',
            "KeyError('input_ids')",
            'ValueError("loss is nan")',
            "AssertionError",
            'MemoryError("cannot allocate 4096 MiB")',
            'OSError(28, "No space left on device")',
        ]
    )


def _stop_early(_: Setting) -> str:
    return 'runtools.report("early stopping: no improvement, training finished")\nruntools.sys.exit(0)'


_BEAT = 'runtools.heartbeats(2.0, "heartbeat: process alive, rss 118 MiB")'
_LOCK = "guard = runtools.threading.Lock()\nguard.acquire()\nguard.acquire()"
_STOP = "runtools.os.kill(runtools.os.getpid(), 19)"
_POLL = "while not runtools.os.path.exists(runtools.READY):\n    runtools.time.sleep(0.5)"

KINDS = (
    Kind("sleeps for ever", "hung", _one_of("runtools.time.sleep(10**8)", "while True:\n    runtools.time.sleep(3600)")),
    Kind("event never set", "hung", _event),
    Kind("lock never given back", "hung", _fixed(_LOCK)),
    Kind(
        "endless loop", "hung", _one_of("while not runtools.converged:\n    pass", "while True:\n    runtools.converged = False")
    ),
    Kind("polls for a file", "hung", _fixed(_POLL)),
    Kind("pipe that nobody writes", "hung", _fixed("runtools.os.read(runtools.os.pipe()[0], 1)")),
    Kind("stops itself", "hung", _fixed(_STOP)),
    Kind("far side is mute", "hung", _fixed("runtools.fetch_index()"), also_right=("stalled",)),
    Kind("helper stopped", "hung", _fixed('runtools.score("stops", 1)'), helper_is_cause=True),
    Kind("helper waits", "hung", _fixed('runtools.score("waits", 1)'), helper_is_cause=True),
    Kind("heartbeats over a hang", "hung", _fixed(f"{_BEAT}\nruntools.threading.Event().wait()"), talks=True),
    Kind("message left out", "hung", None, needs="message"),
    Kind("raises", "crashed", _raise, is_error=True),
    Kind("exits at once", "crashed", lambda setting: f"runtools.os._exit({setting.chance.choice([1, 3, 137])})"),
    Kind("killed", "crashed", _fixed("runtools.os.kill(runtools.os.getpid(), 9)")),
    Kind("segfaults", "crashed", _fixed("runtools.os.kill(runtools.os.getpid(), 11)")),
    Kind("exits with 0", "finished", _stop_early),
    Kind("runs to its end", "finished", None, changes=False),
    Kind("nothing wrong", "alive", None, changes=False),
    Kind("fails and tries again", "alive", _again),
    Kind("slow from now on", "alive", _slow, lasting=True),
    Kind("long python", "alive", lambda setting: f"runtools.search({setting.seconds:.0f})"),
    Kind("long call into C", "alive", lambda setting: f"runtools.stretch({setting.seconds:.0f})"),
    Kind("long torch", "alive", lambda setting: f"runtools.factor({setting.seconds:.0f})", needs="torch"),
    Kind("heartbeats over work", "alive", lambda setting: f"{_BEAT}\nruntools.search({setting.seconds:.0f})", talks=True),
    Kind("writes for long", "alive", lambda setting: f"runtools.save_shards({setting.seconds:.0f})"),
    Kind("silent upload", "alive", _upload),
    Kind("silent download", "alive", lambda setting: f"runtools.download({setting.size})"),
    Kind("child uploads", "alive", lambda setting: f"runtools.upload_by_child({setting.size})"),
    Kind("announced retry", "alive", _retry),
    Kind("helper computes", "alive", lambda setting: f'runtools.score("works", {setting.seconds:.0f})'),
)
