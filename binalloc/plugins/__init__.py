"""What other installed packages add: found by Python's entry points, and blamed by name for what they get wrong."""
