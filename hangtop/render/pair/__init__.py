"""Rows of two ranks side by side."""
