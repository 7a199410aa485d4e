"""This package reorders instructions inside basic blocks, before registers are allocated."""
