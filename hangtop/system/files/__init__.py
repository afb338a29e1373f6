"""Which processes hold or write a file, and what a file system tells of itself."""
