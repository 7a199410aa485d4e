"""This room makes sweeps: kernels at many levels, by many allocators, on many machines. They run in many processes, and
can be resumed."""
