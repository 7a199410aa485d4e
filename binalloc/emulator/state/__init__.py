"""This package holds the state of the emulated machine: its records, their columns and the staged code."""
