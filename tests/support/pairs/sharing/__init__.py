"""Pairs of kernels for blocks that share a part of their memory, right and wrong ones."""
