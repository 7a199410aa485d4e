"""Accesses of a warp: coalescing, bank conflicts, caches."""
