"""What is known about a run besides its members' status: GPUs, collectives, Ray, messages."""
