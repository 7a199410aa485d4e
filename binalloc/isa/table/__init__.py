"""These tables define the instruction set."""
