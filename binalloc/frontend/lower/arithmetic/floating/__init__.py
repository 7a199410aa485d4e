"""Floating-point instructions of 32 and 64 bits."""
