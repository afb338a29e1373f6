"""A profile: one framework's stages, markers, progress lines and limits, as data. This file is its schema."""

from __future__ import annotations

from msgspec import Struct, field

STAGE_IDS = tuple(
    (
        "launch config resource_pool_spec dist_init dist_ready dataset dataset_filter dataloader resource_pool model_load "
        "actor_init engine_load engine_dist_init engine_compile engine_kv engine_graphs engine_ready rollout_init weight_sync "
        "train_loop rollout validation checkpoint finish"
    ).split()
)
"""The ids of stages, the same in every profile; titles are its own."""

FRAMEWORKS = tuple(
    (
        "verl gkd openrlhf lightrft torchrun hf accelerate deepspeed megatron nemo lightning "
        "vllm sglang ray selfplay tqdm generic"
    ).split()
)
"""The frameworks that `check --json` may name; a user's profile may add one."""

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
    """Text that proves a stage. `literal`: any of these occurs in the message (they feed the scan). `regex`, searched in the
    message without its prefixes, is only tried behind a literal. `example` must match."""

    literal: tuple[str, ...]
    regex: str | None = None
    example: str | None = None
    note: str = ""


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a run. Seconds are for the default stall limit and scale with it. `recurs`: happens again inside training.

    `steady`: its limit follows the run's own pace (a training loop). `restarts`: seen after training began it means a new
    attempt in the same file, not a step back. A stage that neither recurs nor restarts and comes up after training began is
    ignored (a communicator made late, a second data set).
    `after_done`: the stage that goes on when a `done` marker was seen, where the next enter marker may be long in coming.
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
    causes: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    cite: tuple[str, ...] = ()


class ProgressLine(Struct, frozen=True, forbid_unknown_fields=True):
    """A line that tells how far the run is; the first of a profile that matches wins.

    Named groups of `regex`: step, total, n (a step where no `step` group is), rate, unit (`it/s`, `s/it`), ms, sec (of one),
    elapsed, eta, desc, epoch, any metric by its plain name, and `kv`: text that holds pairs, each found by `pair`: one of
    `PAIRS`, or a regex of your own with groups `key`, `value`, and `unit` of a value like `412ms`, whose key then is
    `time[ms]`. `whole`: pairs are looked for in all of the line. `metrics` renames groups or keys to plain names
    (`"actor/pg_loss" = "loss"`), in lower case if not as they are; keys that are not named here are dropped. The names `total`,
    `step_s` and `step_ms` stand for the total and the time of a step.
    `coarse`: epochs, or what is only likely to be steps; it counts where nothing finer is told.
    `counts` false: a bar of loading or evaluating. It shows life and may prove a stage, but is not the run's step.
    `below`: where the line tells no metric, lines below it that hold one of these texts may, one each, by the same names.
    `doubt`: a regex for such a line that settings hold as well, or that begins what it counts: it counts when a line below tells
    a metric, or, where it has no total, when its number has grown twice.
    `total_from`: the regex group `total` found once in another line (its literals stand in `total_literal`).
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
    """A table of steps: a line of names, and below it rows with a value for each. Bars, tabs, commas, semicolons or blanks part
    them. Names are compared in lower case, `_` for blanks, without units in parentheses.

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
    """A block of model output or data inside the log: nothing in it counts. It begins with a line that holds `begin` and ends
    before a line of the same writer (the same prefix) that holds one of `until`, with one that holds one of `last`, or after
    `max_lines` lines of that writer; with `max_lines = 1` it is that one line. Lines of other writers in between do not belong
    to it. `unsure`: its end may be missing, so that what it holds counts as long as nothing has ended it."""

    begin: Marker
    until: tuple[Marker, ...] = ()
    last: tuple[Marker, ...] = ()
    max_lines: int = 400
    unsure: bool = False


class MeshLine(Struct, frozen=True, forbid_unknown_fields=True):
    """A line that names the run's parallel groups. Named groups of `regex`, which is searched as often as it occurs in the line:

    a dimension's short name (pp, dp, cp, tp): its size. `pairs`: sizes as `dp=2, tp=4`; `names` and `sizes`: two lists; both hold
    all dimensions, slowest first. With `rank` beside them these are the place of that rank. `dimension` and `groups`: lists of
    ranks, `[[0, 1], [2, 3]]`. `order`: dimensions, slowest first, where it is not pp dp cp tp.
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

    `contains`: profiles whose lines also occur inside (verl holds vLLM); they never lead over it, and the stages of those with
    `nests_in` show only as latest proof inside that stage. `refines`: a profile that this one replaces as soon as one of its
    own texts is seen; its progress lines and free text hold here too. `base`: active in every run, below all others.
    `teacher_wait_s`: how long its client waits for a teacher server, which is no Ray actor, before it skips the batch.
    `stall_hint`: stage id to a sentence for a run silent there.
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
    stall_hint: dict[str, str] = field(default_factory=dict)
