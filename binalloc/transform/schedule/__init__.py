"""This package computes control codes, and gives registers other numbers to avoid bank conflicts."""
