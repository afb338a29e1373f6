"""What a person can do to a run: one `Action` each. Keys, dialogs, help page and commands are made from the list of them.

Every action goes the same way, by its key on the screen or by its command: its planner names the questions that the probe must
answer, makes the plan of the answers, and the plan is shown word for word. Once a person agrees, the executor carries it out and
proves each step (`hangtop.actions.execute`, `hangtop.actions.prove`): it knows plans, and no actions. A new action is an entry in
`ACTIONS` and a planner in `hangtop.actions.plans`. Only what no plan can say yet needs more: a field of
`hangtop.records.plan.Plan`, the step of the executor that does it, and its words in `hangtop.render.plan_rows`.
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

Option = Literal["rank", "session", "older_s", "keep_logs", "plain", "ray_options", "presets", "variables", "as_it_was", "save"]
"""A field of `Choices` that a command can set."""
Need = Literal["processes", "nodes", "gpus", "ray", "log", "every source"]
"""What a command waits for before it asks and plans; on the screen a person has seen what is known."""


class Choices(Struct, frozen=True):
    """What a person chooses with an action: by a row on the screen, in its dialog, or by an option of its command.

    `rank`, `pid`: only this part of the run. `session`: name or GCS address of a Ray session; empty: none; `None`: the one that
    is proven to be the run's. `older_s`: nothing younger is removed. `keep_logs`: of the Ray session. `plain`: refuse while the
    plain `ray stop` would end anything else. `ray_options`: `NAME=VALUE` for `ray start`. `presets`, `variables`: for a start.
    `as_it_was`: it takes over nothing that the advice names. `save`: the folder into which weights are saved before the stop.
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
    as_it_was: bool = False
    save: str = ""


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
    `options`: what its command can choose; with `as_it_was` its start takes over what the advice names. `needs`: what its command
    must be told of the run. `planner`: module and class below `hangtop.actions.plans`.
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


ACTIONS: tuple[Action, ...] = (
    Action(
        "clean",
        key="c",
        word="clean",
        help="clean up what dead runs left behind",
        verb="Clean up",
        planner="clean_plan:CleanPlanner",
        options=("older_s",),
        about="""Remove what dead runs left behind on this machine.

        Processes without a parent, shared memory, Ray sessions, dataset locks. Prints its plan; only --yes carries it out. Only
        what is yours, not in use and older than --older. Never a cache of models or compiled code. Exit code 1: something
        stayed.
        """,
    ),
    Action(
        "stop",
        key="k",
        word="stop",
        help="stop the run, or what is chosen",
        verb="Stop {}",
        planner="stop_plan:StopPlanner",
        options=("rank", "save"),
        needs="log or pid",
        about="""Stop the run, or one rank of it, and prove that it is gone.

        Prints its plan; only --yes carries it out: TERM, wait, KILL, children first. Signals only processes of this run that are
        yours, each checked again by its start time. Exit code 1: something survived.
        """,
    ),
    Action(
        "restart",
        key="r",
        word="restart",
        help="stop it, start it again, with more debugging",
        verb="Restart",
        planner="restart_plan:RestartPlanner",
        options=("presets", "variables", "save"),
        needs="log or pid",
        about="""Stop the run and start it again as it was.

        With the same command, folder, environment and limits. Whether it can start is looked at before anything is ended. Prints
        its plan; only --yes carries it out. Exit code 1: something survived, or did not start; 2: it could not start, nothing was
        done.
        """,
    ),
    Action(
        "ray restart",
        key="R",
        word="Ray",
        help="stop this Ray session, clean, start it again",
        verb="Restart Ray",
        planner="ray_plan:RayRestartPlanner",
        options=("session", "keep_logs", "ray_options"),
        about="""Stop one Ray session and start it again as it was.

        With the same options, after a clean-up. Prints its plan; only --yes carries it out. Exit code 1: something survived, did
        not start, or is not as it was.
        """,
    ),
    Action(
        "recover",
        key="!",
        word="recover",
        help="evidence, stop all, Ray again, start, watch",
        verb="Recover",
        planner="recovery_plan:RecoveryPlanner",
        options=("presets", "variables", "as_it_was", "session", "save"),
        needs="log",
        about="""Do all that a hung run needs, up to the new start.

        Stacks, bundle, stop the run and its Ray session, clean up, start Ray and the run, watch it pass where it hung. Where
        the remedy of the likeliest cause is a preset, it starts with that, and says so; a test is only offered. Prints its
        plan; only --yes carries it out. Exit code 1: something survived, did not start, or has not passed that place in time.
        """,
    ),
    Action(
        "continue",
        verb="Continue {}",
        planner="continue_plan:ContinuePlanner",
        options=("rank",),
        needs="log or pid",
        about="""Let stopped processes of the run go on (SIGCONT).

        What Ctrl-Z, a signal or a scheduler stopped, not what a debugger holds. Prints its plan; only --yes carries it out. Exit
        code 1: something ended, is stopped again, or could not be reached.
        """,
    ),
    Action(
        "ray stop",
        verb="Stop Ray",
        planner="ray_plan:RayStopPlanner",
        options=("session", "keep_logs", "plain"),
        about="""Stop one Ray session, and clean up after it.

        Driver first, then raylet and the rest, GCS last. Prints its plan; only --yes carries it out. Exit code 1: something
        survived.
        """,
    ),
)
"""In the order of the footer."""


def action(name: str) -> Action:
    """The action of this name. Raises `LookupError`."""
    return {known.name: known for known in ACTIONS}[name]
