"""This package holds the commands, with one file for each group of related commands."""
