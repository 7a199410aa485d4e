"""Commands for experiments of papers."""
