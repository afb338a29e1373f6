"""Feeds of readings: a probe process or a recording."""
