"""This room has the use case `verify`: it compares a rewritten binary with its original, and returns a record."""
