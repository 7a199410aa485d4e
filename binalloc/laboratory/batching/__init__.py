"""This package has the thread batching paper's experiments: its statements as data, and runs that judge them."""
