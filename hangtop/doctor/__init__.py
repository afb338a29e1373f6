"""Checks before a run: is this machine fit for it? Each check comes with the command that mends it."""
