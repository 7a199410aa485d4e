"""These are the shapes of what each command prints."""
