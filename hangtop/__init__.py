"""hangtop: the terminal monitor that people open when a training run hangs."""

__version__ = "0.1.0"
