"""How long a trace may get; apart, so that the command line's help needs nothing of the emulator."""

DEFAULT_LIMIT = 4 << 30
"""Bytes of the longest trace that is written unless more are asked for."""
