"""The functions of the CUDA runtime that kernels call, in CUDA, and how they come into a program."""
