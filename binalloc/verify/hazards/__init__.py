"""This room checks control codes statically."""
