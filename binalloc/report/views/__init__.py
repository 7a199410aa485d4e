"""This room has the views of binaries that `inspect` and `diff` print."""
