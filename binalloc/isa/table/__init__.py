"""The tables that define the instruction set."""
