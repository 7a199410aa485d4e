"""Names of kernels: as they stand in binaries, and as their authors know them."""
