"""This package assigns registers to the values of virtual code that fits. It finds homes, and a scan that cannot fail
places the values."""
