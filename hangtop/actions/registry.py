"""The actions, in the order of the footer. Keys, dialogs, help page and commands are made from this list.

A new action is an entry here and a planner in `hangtop.actions.plans`. Only what no plan can say yet needs more: a field of
`hangtop.records.plan.Plan`, and the step of the executor that does it.
"""

from __future__ import annotations

from hangtop.actions.action import Action

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
        options=("rank",),
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
        options=("presets", "variables"),
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
        options=("presets", "variables", "session"),
        needs="log",
        about="""Do all that a hung run needs, up to the new start.

        Stacks, bundle, stop the run and its Ray session, clean up, start Ray and the run, watch it pass where it hung. Prints its
        plan; only --yes carries it out. Exit code 1: something survived, did not start, or has not passed that place in time.
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


def action(name: str) -> Action:
    """The action of this name. Raises `LookupError`."""
    return {known.name: known for known in ACTIONS}[name]
