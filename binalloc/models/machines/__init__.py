"""Machines: their files, limits and occupancy."""
