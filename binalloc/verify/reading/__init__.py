"""This room reads both binaries for the checker: code, blocks, webs, the order of accesses."""
