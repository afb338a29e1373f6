"""What NCCL itself tells: its RAS port and flight-recorder dumps."""
