"""This inner room has the requests of CPU programs, which share the memory with the GPU."""
