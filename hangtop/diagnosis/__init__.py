"""Pure rules over the state: is the run hung, where, by which rank, and why. `judge` holds the list of rules."""
