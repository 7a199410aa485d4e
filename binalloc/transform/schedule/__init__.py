"""Control codes."""
