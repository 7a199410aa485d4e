"""What users read of an emulated run."""
