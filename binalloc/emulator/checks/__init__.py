"""What a run looks out for: hazards, uninitialised values, races, faults."""
