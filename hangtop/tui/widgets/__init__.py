"""Widgets and layout that know nothing of training runs."""
