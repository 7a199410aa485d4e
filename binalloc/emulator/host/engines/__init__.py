"""This room has the two engines: the device code as Python, and compiled by Numba and cached."""
