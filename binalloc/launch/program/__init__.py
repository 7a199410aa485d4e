"""Launch files with a sequence of launches are programs: their steps are read, checked and walked through here."""
