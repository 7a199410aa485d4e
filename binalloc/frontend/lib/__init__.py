"""This package is the math library: PTX functions `__binalloc_<name>` that lowered code calls. See
lower/arithmetic/library.py."""
