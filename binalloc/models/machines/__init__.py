"""This room holds machines: their files, limits and occupancy."""
