"""This package allocates registers and spill code for one function whose callees are allocated."""
