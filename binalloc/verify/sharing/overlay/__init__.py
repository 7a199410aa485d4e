"""The proof of kernels whose variables lie over one another in shared memory."""
