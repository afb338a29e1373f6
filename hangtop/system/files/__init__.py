"""Who holds or writes a file, and what a file system says of itself."""
