"""This package tests kernels: they are launched with NumPy arrays, measured, and compared with baselines. It has the
pytest plugin."""
