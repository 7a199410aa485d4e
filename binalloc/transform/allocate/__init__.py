"""This package allocates registers to values, or spills them, for one function and for a whole call graph."""
