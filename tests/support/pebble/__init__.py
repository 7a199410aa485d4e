"""Pebble: a second, tiny instruction set, with which tests show that nothing above `isa` knows Loom."""
