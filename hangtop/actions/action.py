"""What a person can do to a run: one `Action` each, in the list of `hangtop.actions.registry`.

Every action goes the same way, by its key on the screen or by its command: its planner names the questions that the probe must
answer, makes the plan of the answers, and the plan is shown word for word. Once a person agrees, the executor carries it out and
proves each step (`hangtop.actions.execute`, `hangtop.actions.prove`): it knows plans, and no actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

if TYPE_CHECKING:  # the list of actions is read before the first paint, and by --help
    from hangtop.actions.plans.presets import Preset
    from hangtop.records.ask import Ask
    from hangtop.records.plan import OwnProcess, Plan, Refusal
    from hangtop.records.ray.cluster import RayCluster
    from hangtop.records.verdict import Verdict
    from hangtop.records.watch_spec import WatchSpec
    from hangtop.state.run_state import RunState

Option = Literal["rank", "session", "older_s", "keep_logs", "plain", "ray_options", "presets", "variables"]
"""A field of `Choices` that a command can set."""
Need = Literal["processes", "gpus", "ray", "log", "every source"]
"""What a command waits for before it asks and plans; on the screen a person has seen what is known."""


class Choices(Struct, frozen=True):
    """What a person chooses with an action: by a row on the screen, in its dialog, or by an option of its command.

    `rank`, `pid`: only this part of the run. `session`: name or GCS address of a Ray session; empty: none; `None`: the one that
    is proven to be the run's. `older_s`: nothing younger is removed. `keep_logs`: of the Ray session. `plain`: refuse while the
    plain `ray stop` would end anything else. `ray_options`: `NAME=VALUE` for `ray start`. `presets`, `variables`: for a start.
    """

    rank: int | None = None
    pid: int | None = None
    session: str | None = None
    older_s: float = 600.0
    keep_logs: bool = False
    plain: bool = False
    ray_options: tuple[str, ...] = ()
    presets: tuple[Preset, ...] = ()
    variables: dict[str, str] = {}


class Request(Struct, frozen=True):
    """An action that is asked for: for which run, when (unix time), with which choices. `verdict`: what the person sees of
    the run, `None` on the command line. `evidence`: prefix of the paths of evidence."""

    me: OwnProcess
    spec: WatchSpec
    now: float
    choices: Choices = Choices()
    verdict: Verdict | None = None
    evidence: str = ""

    @property
    def number(self) -> int:
        """Of the questions of this request."""
        return int(self.now * 1000)


class Planner:
    """How an action makes its plan. Pure: it reads the state, and does nothing.

    `waits_for`: what a command lets become known first. `patience_s`: how long a command waits for the answers.
    `no_session`: what the action does without any of `sessions`, in words; empty when it needs one.
    """

    waits_for: tuple[Need, ...] = ("processes",)
    patience_s = 15.0
    no_session = ""

    def narrowed(self, spec: WatchSpec) -> WatchSpec:
        """Only the sources that a command of this action needs."""
        return spec

    def sessions(self, state: RunState, me: OwnProcess) -> Sequence[RayCluster]:
        """The Ray sessions among which a person must choose first, because none is proven to be the run's."""
        return ()

    def questions(self, state: RunState, request: Request) -> tuple[Ask, ...] | Refusal:
        """What the probe must answer before the plan can be made."""
        return ()

    def plan(self, state: RunState, request: Request, asked: Sequence[Ask]) -> Plan | Refusal:
        """The plan. `state` holds the answers to all that was `asked`."""
        raise NotImplementedError


class Action(Struct, frozen=True):
    """One thing that a person can do to a run, in all the words in which it is offered.

    `name`: of its command and of its key's action. `key`: as it is typed; empty where there is only the command. `word`: in the
    footer. `help`: on the help page. `verb`: on the button, `{}` stands for the number of processes. `about`: what --help says.
    `options`: what its command can choose. `needs`: what its command must be told of the run. `planner`: module and class below
    `hangtop.actions.plans`.
    """

    name: str
    verb: str
    planner: str
    about: str
    key: str = ""
    word: str = ""
    help: str = ""
    options: tuple[Option, ...] = ()
    needs: Literal["nothing", "log or pid", "log"] = "nothing"

    def load_planner(self) -> Planner:
        """Its planner, imported only now."""
        module, _, name = self.planner.partition(":")
        return cast("Planner", getattr(import_module(f"hangtop.actions.plans.{module}"), name)())
