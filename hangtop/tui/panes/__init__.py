"""The panes of the main page, each a widget that repaints only what changed."""
