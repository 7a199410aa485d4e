"""The ELF file that holds a module."""
