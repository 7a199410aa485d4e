"""The version of the tool, as it stands in `pyproject.toml` and in what the tool writes."""

VERSION = "0.1.0"
