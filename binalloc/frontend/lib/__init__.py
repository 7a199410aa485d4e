"""The math library: PTX functions that lowering calls, `__binalloc_<name>`. See lower/library.py."""
