"""The screen: an app of Textual around the monitor."""
