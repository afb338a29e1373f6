"""Ray clusters. Ray itself is never imported here: its titles, files and plain HTTP tell enough, in any version."""
