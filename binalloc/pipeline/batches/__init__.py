"""This package finds the batches of a kernel's blocks: which block touches which page, and the formula for that."""
