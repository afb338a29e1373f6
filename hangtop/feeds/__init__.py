"""Where readings come from: a probe process or a recording."""
