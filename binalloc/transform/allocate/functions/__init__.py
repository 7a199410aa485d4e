"""Registers and spill code of one function, its callees known."""
