"""Assembly text is read and written here."""
