"""This room writes runs as traces for the trace-driven simulator Accel-Sim."""
