"""The headless twin of the screen: a feed folded into a state, judged moment by moment."""
