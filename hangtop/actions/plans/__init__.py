"""What an action would do, shown before anything is done. Pure."""
