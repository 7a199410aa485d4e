"""The proof of kernels that are prepared for blocks that share a part of their shared memory two by two."""
