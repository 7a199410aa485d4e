"""The rewritten binary, from allocated code."""
