"""The checkpoint directory: a save in progress is a sign of life."""

from __future__ import annotations

from msgspec import Struct

GIVEN = "--ckpt"
GUESSED = "its name"
"""Found near the working directory of the run, by its name alone: it may be another run's."""


class CheckpointReading(Struct, frozen=True, omit_defaults=True, tag="checkpoints"):
    """The newest file below `directory` that is not older than the run. `growth_b_s`: bytes per second that arrived below it in
    the last samples.

    `grown_at`: unix time when bytes last arrived. `found_by`: how the directory was found, in words.
    """

    directory: str
    found_by: str
    newest: str | None = None
    newest_bytes: int | None = None
    modified_at: float | None = None
    bytes: int = 0
    files: int = 0
    growth_b_s: float | None = None
    grown_at: float | None = None
