"""This room reports suggested launch files, as the text of the file and as JSON."""
