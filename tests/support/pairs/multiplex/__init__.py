"""Pairs of kernels with static shared memory, and kernels whose blocks get it as they run."""
