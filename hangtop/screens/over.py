"""Everything that opens over the watch screen. Loaded after the first paint, for none of it is seen before a key is pressed."""

from hangtop.screens.actor import ActorScreen
from hangtop.screens.acts import ACTS
from hangtop.screens.confirm import ActionScreen
from hangtop.screens.gpu import GpuScreen
from hangtop.screens.help import HelpScreen
from hangtop.screens.leave import LeaveScreen
from hangtop.screens.process import ProcessScreen
from hangtop.screens.rank import RankScreen
from hangtop.screens.verdict import VerdictScreen

__all__ = [
    "ACTS",
    "ActionScreen",
    "ActorScreen",
    "GpuScreen",
    "HelpScreen",
    "LeaveScreen",
    "ProcessScreen",
    "RankScreen",
    "VerdictScreen",
]
