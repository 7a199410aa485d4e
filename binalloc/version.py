"""This is the version of the tool: the same as in `pyproject.toml`, and the one that is written into its output."""

VERSION = "0.1.0"
