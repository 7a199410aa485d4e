"""This inner room has the shapes of objects about off-chip memory."""
