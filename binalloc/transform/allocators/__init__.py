"""Allocators: a file each, and the table that finds them."""
