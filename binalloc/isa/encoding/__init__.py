"""The bits of an instruction."""
