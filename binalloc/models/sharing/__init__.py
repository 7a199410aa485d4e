"""This room holds models of scratchpad sharing: pairs of blocks that share a part of their shared memory."""
