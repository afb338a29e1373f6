"""The source that watches what processes wait for."""
