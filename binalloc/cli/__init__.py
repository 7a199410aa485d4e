"""This package is the command line: it reads options and files, calls the library, prints, and sets the exit code."""
