"""Profiles, signatures and settings: data that says what lines of which framework mean, and its checks."""
