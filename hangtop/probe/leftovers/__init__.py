"""What dead runs left behind: where to look for it, who still uses it, and the one judgement of what may go."""
