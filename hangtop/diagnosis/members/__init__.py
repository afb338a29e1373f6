"""Who is who: ranks, their numbers, GPUs, processes and Ray actors."""
