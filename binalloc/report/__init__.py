"""What users read: plain text for terminals and the dictionaries behind every `--json`."""
