"""One launch of a kernel from start to end, and what may look on: log, watches, profile."""
