"""The process table: processes, their relations, roles, rights, limits and activity."""
