"""Registers for the values of virtual code that fits: homes, and a scan that cannot fail to place them."""
