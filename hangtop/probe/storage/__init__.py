"""Checkpoint folders and the mounts that blocked processes wait on."""
