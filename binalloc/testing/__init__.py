"""Kernels under test: launched with NumPy arrays, measured, and held against baselines; the pytest plugin."""
