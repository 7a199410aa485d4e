"""This package has batches of thread blocks: groups of blocks that touch the same pages of memory."""
