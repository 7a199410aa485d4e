"""This package imports PTX: it turns PTX text into a Loom binary."""
