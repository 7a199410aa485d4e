"""This room has the policies that choose the number of blocks: a file each, and the table by name."""
