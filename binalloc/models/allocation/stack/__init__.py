"""This room gives slots to functions that call one another: colouring, the moving stack, layouts."""
