"""Random and mutated input for everything that reads what hangtop did not write, and keys and sizes at random for the screen."""
