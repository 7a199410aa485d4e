"""Two kernels side by side: their records, and their words in pairs."""
