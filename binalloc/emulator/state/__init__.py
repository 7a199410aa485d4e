"""What the emulated machine holds: records, their columns, staged code."""
