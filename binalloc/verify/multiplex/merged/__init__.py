"""The checker of merged blocks: each does the work of several blocks of the original, which take turns."""
