"""The state of a run at one moment, folded from readings, and its short history. Pure."""
