"""This room estimates what a version of a kernel takes on a machine. Nothing is run."""
