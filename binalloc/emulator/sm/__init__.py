"""A streaming multiprocessor: issue, events, ports, barriers, dispatch of blocks."""
