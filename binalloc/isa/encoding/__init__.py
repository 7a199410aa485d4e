"""The bits of an instruction are encoded and decoded here."""
