"""This room computes what instructions give for known values: one number, or one for each thread. Nothing is run."""
