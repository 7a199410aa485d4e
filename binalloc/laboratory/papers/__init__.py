"""This room has the statements of papers as data, and the sweeps of samples that repeat a paper's experiments."""
