"""This package holds the facts and the state on which the lowering of a function depends."""
