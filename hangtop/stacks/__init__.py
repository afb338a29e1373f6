"""What a stack says: frames told apart, ranks that stand alike, loops. Pure."""
