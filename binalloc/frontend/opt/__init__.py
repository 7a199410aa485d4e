"""Optimisation of virtual Loom: copies, constants, common subexpressions, dead code, addresses, instruction selection."""
