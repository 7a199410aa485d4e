"""The two engines: the device code as Python, and compiled by Numba and cached."""
