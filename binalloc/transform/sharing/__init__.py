"""This room changes kernels whose blocks share memory two by two: other places of variables, and releases."""
