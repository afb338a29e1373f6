"""What is known of Ray clusters, sessions, workers and their titles."""
