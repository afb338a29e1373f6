"""Everything that opens over the watch screen. Loaded after the first paint, for none of it is seen before a key is pressed."""

from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.dialogs.quit_dialog import QuitScreen
from hangtop.tui.open_action import open_action
from hangtop.tui.pages.actor_page import ActorScreen
from hangtop.tui.pages.gpu_page import GpuScreen
from hangtop.tui.pages.help_page import HelpScreen
from hangtop.tui.pages.process_page import ProcessScreen
from hangtop.tui.pages.rank_page import RankScreen
from hangtop.tui.pages.verdict_page import VerdictScreen

__all__ = [
    "ActionScreen",
    "ActorScreen",
    "GpuScreen",
    "HelpScreen",
    "ProcessScreen",
    "QuitScreen",
    "RankScreen",
    "VerdictScreen",
    "open_action",
]
