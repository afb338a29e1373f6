"""Whole screens: the watch, and the pages over it."""
