"""Where in an SM's shared memory an allocation lies."""
