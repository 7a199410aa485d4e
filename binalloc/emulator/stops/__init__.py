"""This package says in the words of the program why a run stopped: faults, deadlocks and endless loops."""
