"""This package chooses the parts of live ranges to spill, and writes the code that brings them back."""
