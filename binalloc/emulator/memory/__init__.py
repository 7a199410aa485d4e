"""This room models the memory accesses of warps: coalescing, bank conflicts, caches, interconnect and DRAM."""
