"""Small pure modules that every package may use: text, times, medians, TOML, texts that are safe to show."""
