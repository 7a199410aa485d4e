"""This interface is all that the rest of the tool may know of an instruction, whatever the instruction set."""
