"""What hangtop keeps on disk from one call to the next: how runs were started, which it stopped."""
