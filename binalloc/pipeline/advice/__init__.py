"""This room makes recommendations for a kernel, with the reasons: bounds, notes, hot lines, certificates."""
