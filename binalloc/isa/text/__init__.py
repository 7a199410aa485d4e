"""Assembly text."""
