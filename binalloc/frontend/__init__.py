"""PTX import."""
