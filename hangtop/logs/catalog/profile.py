"""A profile: one framework's stages, markers, progress lines and limits, as data. This file is its schema."""

from __future__ import annotations

from msgspec import Struct, field

from hangtop.common.late_pattern import compiled

STAGE_IDS = tuple(
    (
        "launch config resource_pool_spec dist_init dist_ready build dataset dataset_filter dataloader resource_pool "
        "download model_load actor_init engine_load engine_dist_init engine_compile engine_kv engine_graphs engine_ready "
        "rollout_init weight_sync train_loop rollout validation checkpoint finish"
    ).split()
)
"""The ids of stages, the same in every profile; titles are its own."""

_NUMBER = r"(?P<value>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|[nN]a[nN]|[iI]nf(?:inity)?))"
PAIRS = {
    "strict": r"(?<![\w@./-])(?P<key>[A-Za-z_][\w@./-]{0,120})['\"]?\s?(?:[:=]|\sis\s)\s?['\"]?(?:np\.\w+\()?"
    rf"{_NUMBER}(?![\w.])",
    "loose": r"(?<![\w@./-])(?<!val )(?<!Val )(?<!eval )(?<!valid )(?<!test )(?<!ation )(?P<key>[A-Za-z_][\w@./-]{0,120})['\"]?"
    rf"(?:\s?[:=]\s{{0,3}}|\s(?:is|was)\s|\s{{1,3}})['\"]?{_NUMBER}(?P<unit>ms|s)?(?![\w.])",
    "unicode": rf"(?<![\w@./-])(?P<key>[^\W\d][\w@./-]{{0,120}})['\"]?\s?[:=：]\s?{_NUMBER}(?![\w.])",
}
"""One `key: value` of a line. `strict`: in all the ways frameworks write it: `k:v`, `'k': 'v'`, `k=v`, `k:np.float64(v)`.
`loose`: blanks may part them as well, and a unit follow (`loss 2.3 time 412ms`); what is said of evaluation is left out.
`unicode`: names in any script."""


class Marker(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that proves a stage. `literal`: the message holds one of these; the scan looks for them. `regex`: searched in the
    message without its prefixes, if a literal was found. `example` must match."""

    literal: tuple[str, ...]
    regex: str | None = None
    example: str | None = None
    note: str = ""

    def matches(self, text: str) -> bool:
        """Whether a message proves it."""
        return any(literal in text for literal in self.literal) and (
            self.regex is None or bool(compiled(self.regex).search(text))
        )


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """One stage of a run. Seconds are for the default stall limit and scale with it. `recurs`: it happens again during training.

    `steady`: its limit follows the run's own pace (a training loop). `restarts`: a marker after training began means a new
    attempt in the same file. A stage that neither recurs nor restarts is ignored once training began (a communicator made late,
    a second data set). `after_done`: the stage that follows a `done` marker, if the next enter marker may come much later.

    Why a run stands in a stage and what to do then is said by the places of that stage (`hangtop/remedies/places/`).
    """

    id: str
    title: str
    enter: tuple[Marker, ...] = ()
    done: tuple[Marker, ...] = ()
    after_done: str | None = None
    typical_s: float | None = None
    slow_after_s: float | None = None
    stalled_after_s: float | None = None
    recurs: bool = False
    restarts: bool = False
    steady: bool = False
    ends_run: bool = False


class ProgressLine(Struct, frozen=True, forbid_unknown_fields=True):
    """A line that tells the progress of the run; the first one of a profile that matches counts.

    Named groups of `regex`: step, total, n (the step, if there is no `step` group), rate, unit (`it/s`, `s/it`), ms, sec (of one
    step), elapsed, eta, desc, epoch, any metric by its plain name, and `kv`: text with pairs, each found by `pair`: one of
    `PAIRS`, or a regex with groups `key`, `value`, and `unit` of a value like `412ms`, whose key then is `time[ms]`.
    `whole`: pairs are searched in the whole line. `metrics` renames groups or keys to plain names (`"actor/pg_loss" = "loss"`),
    as written or in lower case; other keys are dropped. The names `total`, `step_s` and `step_ms` stand for the total and the
    time of a step. `coarse`: it counts epochs, or numbers that are only likely steps; used if no other line tells steps.
    `counts` false: a bar of loading or evaluating. It shows life and may prove a stage, but is not the run's step.
    `below`: if the line tells no metric, lines below it that hold one of these texts may, one metric each, by the same names.
    `doubt`: a regex for such lines that may also be settings, or announce what will be counted: the line counts if a line below
    tells a metric, or, without a total, once its number has grown twice.
    `total_from`: a regex with the group `total` for another line (its literals are in `total_literal`).
    """

    id: str
    literal: tuple[str, ...]
    regex: str
    example: str
    metrics: dict[str, str] = {}
    pair: str = "strict"
    whole: bool = False
    coarse: bool = False
    counts: bool = True
    below: tuple[str, ...] = ()
    doubt: str | None = None
    total_from: str | None = None
    total_literal: tuple[str, ...] = ()
    total_example: str | None = None
    stage: str | None = None
    note: str = ""

    @property
    def pair_regex(self) -> str:
        """The regex that finds its pairs."""
        return PAIRS.get(self.pair, self.pair)


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of steps: a line of column names, and rows of values below it, separated by bars, tabs, commas, semicolons or
    blanks. Names are compared in lower case, `_` for blanks, without units in parentheses.

    `literal`: any of these occurs in the line of names. `step`: names of the column that counts, the best first; those that are
    in `coarse` count epochs. `needs`: a regex for the name of another column, without which they are no steps. `rank`: names
    of the column that tells whose row it is. `metrics`: as in a progress line. `example`: a line of names, and a row.
    """

    id: str
    literal: tuple[str, ...]
    step: tuple[str, ...]
    needs: str
    example: tuple[str, str]
    coarse: tuple[str, ...] = ()
    rank: tuple[str, ...] = ()
    metrics: dict[str, str] = {}
    stage: str | None = None
    note: str = ""


class FreeText(Struct, frozen=True, forbid_unknown_fields=True):
    """A block of model output or data inside the log: nothing in it counts. It begins with a line that holds `begin`. It ends
    before a line of the same writer (the same prefix) that holds one of `until`, after a line that holds one of `last`, or after
    `max_lines` lines of that writer; with `max_lines = 1` it is one line. Lines of other writers do not belong to it. `unsure`:
    its end may be missing, so messages in it count until its end is seen."""

    begin: Marker
    until: tuple[Marker, ...] = ()
    last: tuple[Marker, ...] = ()
    max_lines: int = 400
    unsure: bool = False


class MeshLine(Struct, frozen=True, forbid_unknown_fields=True):
    """A line that tells the parallel layout. `regex` is searched repeatedly in the line. Its named groups:

    a dimension's short name (pp, dp, cp, tp): its size. `pairs`: sizes as `dp=2, tp=4`; `names` and `sizes`: two lists; both hold
    all dimensions, slowest first. With a group `rank` these are the coordinates of that rank. `dimension` and `groups`: lists of
    ranks, `[[0, 1], [2, 3]]`. `order`: dimensions, slowest first, if it is not pp dp cp tp.
    """

    literal: tuple[str, ...]
    regex: str
    example: str
    order: tuple[str, ...] = ()


class Detect(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that speaks for this framework, and its weight. Weights of distinct texts add up; 3 is proof enough, the highest sum
    leads. The texts are searched in the whole line with its prefixes, colours removed. `regex` must match too, when given."""

    literal: str
    weight: int = 1
    regex: str | None = None


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One framework. `framework`: the name to report (empty in the file: the profile's own).

    `contains`: profiles whose lines occur in its logs too (verl contains vLLM). They never lead over it; stages of a profile with
    `nests_in` are shown inside that stage. `refines`: a profile that this one replaces once one of its own texts is seen; it
    shares the progress lines and free text of that profile. `base`: active in every run, below all others.
    `teacher_wait_s`: how long its client waits for a teacher server, which is no Ray actor, before it skips the batch.
    `start_normal_s`, `start_suspect_s`: a start up to training takes less than this as a rule; beyond that it rather hangs than
    loads. 0: not known.
    `stall_hint`: by stage id, a sentence for a run that is silent there.
    """

    schema: int
    name: str
    title: str
    framework: str = ""
    stage: tuple[Stage, ...] = ()
    progress: tuple[ProgressLine, ...] = ()
    table: tuple[Table, ...] = ()
    free_text: tuple[FreeText, ...] = ()
    mesh: tuple[MeshLine, ...] = ()
    detect: tuple[Detect, ...] = ()
    contains: tuple[str, ...] = ()
    nests_in: str | None = None
    refines: str | None = None
    base: bool = False
    teacher_wait_s: float = 0.0
    start_normal_s: float = 0.0
    start_suspect_s: float = 0.0
    stall_hint: dict[str, str] = field(default_factory=dict)
