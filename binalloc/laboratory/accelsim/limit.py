"""A trace has an upper limit of its length. It is in a file of its own, so that the command line's help needs nothing
of the emulator."""

DEFAULT_LIMIT = 4 << 30
"""Bytes of the longest trace unless more are asked for: about 100 million warp instructions of some 40 bytes."""
