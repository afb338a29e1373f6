"""Processes that agreed to be asked (`import hangtop.agent`): the end that waits in them, and ours that asks."""
