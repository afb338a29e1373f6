"""Faults around a run, each played in a real terminal: the truth is said in words, keys are answered, and `q` leaves nothing."""
