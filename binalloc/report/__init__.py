"""This room makes what users read: plain text for terminals, and the dictionaries that `--json` prints."""
