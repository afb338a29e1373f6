"""Readers of what the machine itself says. Each compares with its own last look."""
