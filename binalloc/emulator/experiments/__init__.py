"""Kernels that measure the emulated machine, and what is read off their runs."""
