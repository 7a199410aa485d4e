"""This package holds the CUDA runtime's functions that kernels call, written in CUDA, and adds them to a program."""
