"""This room has the energy of off-chip memory, from the currents of its data sheet, and the order of the parts of its
addresses."""
