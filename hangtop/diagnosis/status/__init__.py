"""What each member of a run does now: works, waits, is blocked, is gone."""
