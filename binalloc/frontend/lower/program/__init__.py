"""Whole PTX modules and routines to Loom."""
