"""This package makes the rewritten binary from allocated code."""
