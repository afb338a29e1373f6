"""Log files and pipes: found, followed, searched."""
