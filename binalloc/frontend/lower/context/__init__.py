"""What lowering knows of the function at hand."""
