"""This room shows results of the analyses to people: pressure, live ranges, dumps."""
