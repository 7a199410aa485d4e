"""Code on unlimited values, and its liveness."""
