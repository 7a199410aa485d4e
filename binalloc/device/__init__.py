"""This package launches kernels from Python on NumPy arrays: once, or on a device that is kept."""
