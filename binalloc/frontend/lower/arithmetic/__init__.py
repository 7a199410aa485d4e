"""PTX arithmetic to Loom."""
