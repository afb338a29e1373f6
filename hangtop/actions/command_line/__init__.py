"""A command line as a person types it and as a shell reads it. Pure."""
