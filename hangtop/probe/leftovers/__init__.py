"""What dead runs left behind: where it lies, which processes still use it, and the one judgement of what may go."""
