"""This room finds what the values of a kernel's threads may be."""
