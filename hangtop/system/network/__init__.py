"""Sockets of processes: listeners, connections, network namespaces."""
