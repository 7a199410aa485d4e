"""This package has the allocators, a file each, and the table that finds them."""
