"""A paper's figures on emulated machines beside what the paper states: what JSON has of it, and what people read."""
