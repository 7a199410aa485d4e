"""This room has the shapes of what each command prints."""
