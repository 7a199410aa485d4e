"""This room has the unified paper's static search for a number of threads, on counts alone."""
