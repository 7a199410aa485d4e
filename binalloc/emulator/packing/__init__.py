"""This package makes wheels that carry the compiled core, see `wheel.py`."""
