"""This package optimises virtual Loom: copies, constants, common subexpressions, dead code, instruction selection."""
