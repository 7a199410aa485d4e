"""What runs the emulator: engines, the run itself, its faults in words."""
