"""PTX memory accesses to Loom."""
