"""Instruction sets: objects behind the instruction interface, found through one table."""
