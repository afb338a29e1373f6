"""What a person may do to a run. Each has a plan, pure and shown first; a run, in a process of its own; a proof."""
