"""Pre-flight: is this machine fit to start this run? A table of checks, each with the command that mends it."""
