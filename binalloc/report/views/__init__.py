"""What `inspect` and `diff` print of a binary."""
