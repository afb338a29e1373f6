"""Small pure pieces that every package may use: words, times, medians, texts that are safe to show."""
