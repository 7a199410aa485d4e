"""Static check of control codes."""
