"""GPUs, asked through a driver that may hang."""
