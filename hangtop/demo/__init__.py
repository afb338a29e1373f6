"""A real little training run of a few processes, to see hangtop at work without a GPU: it has stages and really hangs."""

from hangtop.demo.demo_run import DemoRun
from hangtop.demo.scenario import DemoError, Scenario, scenario, scenarios

__all__ = ["DemoError", "DemoRun", "Scenario", "scenario", "scenarios"]
