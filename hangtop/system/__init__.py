"""What the operating system says, for the probe and for actions."""
