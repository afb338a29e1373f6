"""Dialogs that ask before anything is done."""
