"""Rows of the Ray pane."""
