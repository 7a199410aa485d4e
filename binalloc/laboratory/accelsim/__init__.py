"""Runs written as traces that the trace-driven simulator Accel-Sim reads."""
