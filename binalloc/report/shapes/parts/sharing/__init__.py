"""These are the shapes of objects on shared memory: its use, pairs of blocks that share it, and their figures."""
