"""Policies that choose the number of blocks: a file each, and the table that finds them."""
