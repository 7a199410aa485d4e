"""PTX of several files to one module: symbols found, checked and renamed, as a linker does it."""
