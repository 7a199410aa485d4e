"""Names of kernels are read here: mangled, as binaries have them, and as their authors know them."""
