"""Policies that pick the number of blocks."""
