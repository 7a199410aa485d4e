"""Instruction sets are objects behind the instruction interface, found through one table."""
