"""Which processes are the run, and what each of them does."""
