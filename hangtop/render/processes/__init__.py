"""Rows of the process pane."""
