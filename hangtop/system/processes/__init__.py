"""The process table: who is there, whose child, with which rights, files and limits."""
