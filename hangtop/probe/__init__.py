"""The sources: whatever can block runs in a process of its own and prints what it reads."""
