"""What the machine itself says, beside the run."""
