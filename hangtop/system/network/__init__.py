"""Sockets of processes: who listens, who is connected, in which network namespace."""
