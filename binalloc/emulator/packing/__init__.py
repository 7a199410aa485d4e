"""Makes packages that carry the compiled core: see `wheel.py`."""
