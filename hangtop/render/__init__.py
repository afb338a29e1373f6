"""Rows of spans for screens and commands. Pure, and without Textual."""
