"""The parts of the screen, and the rows that they paint."""
