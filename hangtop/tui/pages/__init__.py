"""Pages that open over the main one: a rank, a GPU, a process, an actor, stacks, the verdict, help."""
