"""This package is a streaming multiprocessor: issue, events, ports, barriers and the dispatch of blocks."""
