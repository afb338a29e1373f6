"""Requests to servers that are trusted with nothing: Ray's dashboard, PyTorch's debug servers."""
