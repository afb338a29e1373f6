"""Rows of the log pane."""
