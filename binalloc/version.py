"""The names and the version of the tool, as `pyproject.toml` and the records in binaries have them."""

VERSION = "0.1.0"
IMPORTER = "binalloc import-ptx"  #: `tool` in the provenance of binaries that were imported from PTX
