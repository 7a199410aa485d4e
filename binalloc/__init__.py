"""binalloc: registers, shared-memory slots, local memory and occupancy for compiled SIMT binaries."""

__version__ = "0.1.0"
