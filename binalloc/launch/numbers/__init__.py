"""The numbers of launches are here: their types, and the text that they are written as."""
