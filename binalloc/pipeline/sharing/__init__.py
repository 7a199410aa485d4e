"""This room plans how pairs of blocks share a part of their shared memory."""
