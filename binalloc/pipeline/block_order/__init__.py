"""This package has versions of a kernel whose blocks work in another order, and the choice among them."""
