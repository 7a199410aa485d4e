"""This package runs one launch of a kernel from start to end, with what may look on: log, watches, profile."""
