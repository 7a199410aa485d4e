"""This room finds where a kernel uses which part of its shared memory, from a thread's first access to its last."""
