"""What follows: each rule looks at a snapshot and gives a verdict or none."""
