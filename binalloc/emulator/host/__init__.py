"""This room sets the emulator up and steps it: engines, the device in memory, staged code, sums of its counters."""
