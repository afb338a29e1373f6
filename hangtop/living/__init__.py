"""Questions with a name, for a living process that agreed to be asked."""
