"""The matrix as data: scenes (what is here), runs, and rows that put one beside the other; and what came of a row."""

from __future__ import annotations

from pathlib import Path

import msgspec

HERE = Path(__file__).parent


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which Ada's run may be. `command`: as typed in a shell, in the run's folder; its output goes to `log`, unless
    `terminal` or `bare` says that the command sees to that. `ready`: stands in the log when it may be looked at."""

    command: str
    verdict: tuple[str, ...]
    ready: str = "step 5/"
    log: str = "train.log"
    stall_s: float = 3.0
    ends: bool = False
    bare: bool = False
    terminal: tuple[str, ...] = ()
    slurm: bool = False
    floods: bool = False
    clusters: tuple[str, ...] = ()


class Scene(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is here. The scenes of a room follow each other: each does its `do` to what those before it left."""

    room: str
    name: str
    do: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    needs: str | None = None


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run in one scene, and what is asked of hangtop. `act`: a command that is really carried out, after the others
    (`twice: …`: two at once). `event`: a line that root's shell runs in the run's folder. `holds`: see `play.held`.
    `seen`: people met it. `gate`: it is played with every test run. `miss`: why it is known to fail."""

    scene: str
    run: str
    ask: tuple[str, ...]
    user: str = "ada"
    act: str | None = None
    event: str | None = None
    verdict: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    seen: bool = False
    gate: bool = False
    miss: str | None = None

    @property
    def alters(self) -> bool:
        """It needs a run of its own."""
        return self.act is not None or self.event is not None or bool(self.holds)

    @property
    def name(self) -> str:
        """What is here × what is the run's."""
        who = "" if self.user == "ada" else f" ({self.user} looks)"
        return f"{self.scene} × {self.run}{who}" + (f": {what}" if (what := self.act or self.event) else "")


class Outcome(msgspec.Struct, frozen=True):
    """What was seen of one row. `faults`: what should not be, none where all is right. `said`: the answers, cut."""

    name: str
    faults: tuple[str, ...]
    said: tuple[str, ...] = ()
    seconds: float = 0.0


class Matrix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file `rows.toml`."""

    run: dict[str, Run]
    scene: tuple[Scene, ...]
    row: tuple[Row, ...]

    def rooms(self) -> tuple[str, ...]:
        """Each room once, in the order of the file."""
        return tuple(dict.fromkeys(scene.room for scene in self.scene))

    def room_of(self, row: Row) -> str:
        return next(scene.room for scene in self.scene if scene.name == row.scene)


def matrix() -> Matrix:
    return msgspec.toml.decode((HERE / "rows.toml").read_bytes(), type=Matrix)
