"""This package has the proof of kernels whose blocks work in another order."""
