"""A profile: one framework's stages, markers, progress lines and limits, as data. This file is its schema and its check."""

from __future__ import annotations

from msgspec import Struct, field

STAGE_IDS = tuple(
    (
        "launch config resource_pool_spec dist_init dist_ready dataset dataset_filter dataloader resource_pool model_load "
        "actor_init engine_load engine_dist_init engine_compile engine_kv engine_graphs engine_ready rollout_init weight_sync "
        "train_loop rollout validation checkpoint finish"
    ).split()
)
"""The same in every profile; titles are its own."""


class Marker(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that proves a stage. `literal`: any of these occurs in the message (they feed the scan). `regex`, searched in the
    message without its prefixes, is only tried behind a literal. `example` must match."""

    literal: tuple[str, ...]
    regex: str | None = None
    example: str | None = None
    note: str = ""


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a run. Seconds are for a stall limit of 120 s and scale with it. `recurs`: happens again inside training.

    `steady`: its limit follows the run's own pace (a training loop). `announces`: a wait printed in the log is normal here.
    """

    id: str
    title: str
    enter: tuple[Marker, ...]
    done: tuple[Marker, ...] = ()
    typical_s: float | None = None
    slow_after_s: float | None = None
    stalled_after_s: float | None = None
    recurs: bool = False
    steady: bool = False
    ends_run: bool = False
    causes: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    cite: tuple[str, ...] = ()


class ProgressLine(Struct, frozen=True, forbid_unknown_fields=True):
    """A line that tells how far the run is. Named groups of `regex`: step, total, n, rate, unit, elapsed, eta, epoch, kv,
    loss, lr, grad … `metrics` renames groups or keys inside `kv` (`"actor/pg_loss" = "loss"`)."""

    id: str
    literal: tuple[str, ...]
    regex: str
    example: str
    metrics: dict[str, str] = {}
    total_from: str | None = None
    stage: str | None = None
    note: str = ""


class FreeText(Struct, frozen=True, forbid_unknown_fields=True):
    """A block of model output or data inside the log: nothing in it counts. Ends at `until`, or after `max_lines`."""

    begin: Marker
    until: tuple[Marker, ...]
    max_lines: int = 400


class Detect(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that speaks for this framework, and how loudly."""

    literal: str
    weight: int = 1
    regex: str | None = None


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One framework. `contains`: profiles whose lines also occur inside (verl holds vLLM); `nests_in`: the stage ids of those
    engines show only as latest proof inside that stage. `startup_s`: normal, slow, suspicious, for the whole start."""

    schema: int
    name: str
    title: str
    stage: tuple[Stage, ...] = ()
    progress: tuple[ProgressLine, ...] = ()
    free_text: tuple[FreeText, ...] = ()
    detect: tuple[Detect, ...] = ()
    contains: tuple[str, ...] = ()
    nests_in: str | None = None
    refines: str | None = None
    startup_s: tuple[float, float] = (180.0, 600.0)
    base: bool = False
    stall_hint: dict[str, str] = field(default_factory=dict)
