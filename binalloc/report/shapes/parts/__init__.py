"""This room has the shapes that several commands print, and the shapes of files."""
