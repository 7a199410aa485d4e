"""Sweeps: kernels at many levels, by many allocators, on many machines; resumable, in many processes."""
