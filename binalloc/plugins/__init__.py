"""This package has what other installed packages add. They are found by Python's entry points, and named in errors that
they cause."""
