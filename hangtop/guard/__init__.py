"""The watch without a person: what a policy wants done when the verdict changes, done once, and written down."""
