"""This room detects what a run should not do: hazards, uses of uninitialised values, races and faults."""
