"""Results of the analyses as people look at them: pressure, live ranges, dumps."""
