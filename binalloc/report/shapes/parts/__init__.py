"""These are shapes that several commands print, and those of files."""
