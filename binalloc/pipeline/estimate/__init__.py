"""What a version of a kernel is expected to take on a machine: nothing is run."""
