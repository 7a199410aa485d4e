"""Launch files with a sequence of launches: their steps, read, checked and walked through."""
