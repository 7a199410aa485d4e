"""This room makes launch files for kernels that have none, from what their code says of their arguments."""
