"""What a run waits in, and what to do about it: places as data, what is seen of this run put into them. Pure."""
