"""Secrets of every kind, planted into everything that leaves the machine, and counted afterwards."""
