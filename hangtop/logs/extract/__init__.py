"""What one line tells: a step, a stage, a message, a rank. Each extractor reads lines and keeps what it learnt."""
