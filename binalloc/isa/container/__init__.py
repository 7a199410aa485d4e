"""A module is held in an ELF file, which is read and written here."""
