"""What is recommended of a kernel, and why: bounds, notes, hot lines, certificates."""
