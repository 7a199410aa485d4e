"""Models of allocation: colouring, slots, stack layout, exact placement."""
