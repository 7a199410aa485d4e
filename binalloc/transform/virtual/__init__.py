"""This package holds virtual code, which is code on an unlimited number of values, and its liveness."""
