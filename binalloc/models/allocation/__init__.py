"""This room holds models of allocation: colouring, slots, stack layout, exact placement."""
