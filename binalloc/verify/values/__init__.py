"""This room holds the checker's knowledge of values on a path: conditions, and a lattice of equalities."""
