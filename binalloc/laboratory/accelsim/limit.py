"""A trace's length has an upper limit. Its default is in a file of its own, because the command line's help prints it
without loading the emulator."""

DEFAULT_LIMIT = 4 << 30
"""Bytes of the longest trace, unless the user gives a limit: about 100 million warp instructions of some 40 bytes."""
