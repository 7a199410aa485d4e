"""Programs of others, run whole: see README.md."""
