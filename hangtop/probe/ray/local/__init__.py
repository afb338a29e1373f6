"""What this machine alone tells of a cluster: daemons, workers, sessions and their files."""
