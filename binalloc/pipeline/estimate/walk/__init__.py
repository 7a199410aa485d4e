"""This package follows single threads as far as their values are known. Nothing is run, and there is no memory."""
