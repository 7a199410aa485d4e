"""This package holds the commands that repeat the experiments of papers."""
