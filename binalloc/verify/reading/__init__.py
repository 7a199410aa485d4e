"""What the checker reads of both binaries: code, blocks, webs, the order of accesses."""
