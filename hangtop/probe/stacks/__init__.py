"""Stacks of living processes, taken with py-spy."""
