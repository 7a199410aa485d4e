"""This room executes instructions over the lanes of a warp."""
