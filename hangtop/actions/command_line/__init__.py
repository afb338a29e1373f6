"""A command line: as a person types it, and what it finally runs. Pure."""
