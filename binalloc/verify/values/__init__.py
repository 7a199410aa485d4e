"""What the checker knows of values on a path: conditions, and a lattice of equalities."""
