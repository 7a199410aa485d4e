"""Slots of functions that call one another: colouring, the moving stack, layouts."""
