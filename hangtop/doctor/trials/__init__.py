"""Trials before a run: short programs in the run's own interpreter, each with a bound. Only when a person asks for one."""
