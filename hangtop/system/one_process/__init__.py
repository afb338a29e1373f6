"""Everything that the kernel tells of one process: read once, when somebody asks. Nothing runs in it, nothing stops it."""
