"""Values to registers, or to spill code."""
