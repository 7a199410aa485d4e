"""The order of instructions inside basic blocks, before registers are allocated."""
