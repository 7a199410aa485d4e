"""A block dispatcher assigns blocks to SMs, and decides when."""
