"""Policies in this room pick the number of blocks."""
