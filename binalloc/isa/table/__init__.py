"""This room has the tables that define the instruction set."""
