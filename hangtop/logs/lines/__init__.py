"""From bytes to lines: where a line ends, which rank wrote it, when."""
