"""This package lets blocks of a grid work in another order: code that asks for its block gets the place of another."""
