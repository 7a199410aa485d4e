"""A recommendation of how many blocks to run with: what JSON has of it, and what is made of that for people."""
