"""What `verify` prints: proofs, control codes, limits."""
