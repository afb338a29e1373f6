"""Pieces of the process source: the kernel's table, guarded reads, who writes which file, the run's tree."""
